"""Ctrl-C ends a query at once. Python itself hears a signal only once DuckDB returns to it, which may be never."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread, current_thread, main_thread

import duckdb

_GRACE_S = 2.0
"""DuckDB looks for an interrupt between pieces of work, and one may be long. What is cut off then has only read the
database; what it was writing beside it is in `_temporary`."""
_temporary: set[Path] = set()
_OF_PYTHON = "Query interrupted"
"""What DuckDB's module raises where it has heard the signal itself."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Raises KeyboardInterrupt where DuckDB says in its own way that it was interrupted."""
    try:
        yield
    except duckdb.InterruptException as error:
        raise KeyboardInterrupt from error
    except RuntimeError as error:
        if str(error) == _OF_PYTHON:
            raise KeyboardInterrupt from error
        raise


@contextmanager
def temporary(path: Path) -> Iterator[None]:
    """Inside it a file or folder is removed where the process is ended at once; else it is left to who made it."""
    _temporary.add(path)
    try:
        yield
    finally:
        _temporary.discard(path)


@contextmanager
def stoppable(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Raises KeyboardInterrupt soon after Ctrl-C, wherever DuckDB is. Only for a connection that reads."""
    if current_thread() is not main_thread():  # no signal reaches it
        yield
        return
    heard, told = os.pipe()
    os.set_blocking(told, False)
    before = signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    over = Event()
    watcher = Thread(target=_watch, args=(heard, connection, over), daemon=True)
    watcher.start()
    try:
        with interruptible():
            yield
    finally:
        over.set()
        signal.set_wakeup_fd(before)
        os.close(told)
        watcher.join()
        os.close(heard)


def _watch(heard: int, connection: duckdb.DuckDBPyConnection, over: Event) -> None:
    """The pipe brings the number of every signal that Python handles, and ends with the query."""
    while number := os.read(heard, 1):
        if number[0] != signal.SIGINT:
            continue
        with suppress(duckdb.ConnectionException):  # closed, where Ctrl-C came as the query ended
            connection.interrupt()
        if not over.wait(_GRACE_S):
            _end_at_once()


def _end_at_once() -> None:
    """Python cannot: its main thread is in DuckDB."""
    with suppress(OSError):  # nobody may be there to read it
        os.write(2, b"\nbench: stopped\n")
    for path in list(_temporary):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        with suppress(OSError):
            path.unlink(missing_ok=True)
    os._exit(128 + signal.SIGINT)
