"""End a query soon after Ctrl-C. Python handles a signal only after DuckDB returns to it, which may take very long."""

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
"""Time before the process is ended. DuckDB checks for an interrupt only between pieces of work, and a piece may be
long. The process has only read the database; the other files that it was writing are in `_temporary`."""
_temporary: set[Path] = set()
_INTERRUPTED = "Query interrupted"
"""Message of the RuntimeError that DuckDB raises if it notices the signal itself."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Turns DuckDB's own exceptions for an interrupted query into KeyboardInterrupt."""
    try:
        yield
    except duckdb.InterruptException as error:
        raise KeyboardInterrupt from error
    except RuntimeError as error:
        if str(error) == _INTERRUPTED:
            raise KeyboardInterrupt from error
        raise


@contextmanager
def temporary(path: Path) -> Iterator[None]:
    """Remove the file or folder if the process is ended inside the block; otherwise its owner removes it."""
    _temporary.add(path)
    try:
        yield
    finally:
        _temporary.discard(path)


@contextmanager
def stoppable(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Raise KeyboardInterrupt soon after Ctrl-C, even in the middle of a query. Only for a connection that reads."""
    if current_thread() is not main_thread():  # signals go to the main thread only
        yield
        return
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    before = signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    over = Event()
    watcher = Thread(target=_watch, args=(read_end, connection, over), daemon=True)
    watcher.start()
    try:
        with interruptible():
            yield
    finally:
        over.set()
        signal.set_wakeup_fd(before)
        os.close(write_end)
        watcher.join()
        os.close(read_end)


def _watch(read_end: int, connection: duckdb.DuckDBPyConnection, over: Event) -> None:
    """The pipe carries the number of every signal that Python handles; it is closed at the end of the query."""
    while number := os.read(read_end, 1):
        if number[0] != signal.SIGINT:
            continue
        with suppress(duckdb.ConnectionException):  # closed if Ctrl-C came as the query ended
            connection.interrupt()
        if not over.wait(_GRACE_S):
            _end_at_once()


def _end_at_once() -> None:
    """End the process from here: the main thread is inside DuckDB."""
    with suppress(OSError):  # the reader of stderr may be gone
        os.write(2, b"\nbench: stopped\n")
    for path in list(_temporary):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        with suppress(OSError):
            path.unlink(missing_ok=True)
    os._exit(128 + signal.SIGINT)
