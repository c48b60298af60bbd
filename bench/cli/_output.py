"""Output of a command: control characters are escaped, and a reader that exits early ends nothing."""

from __future__ import annotations

import errno
import io
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

import click

from bench.common.terminal import message, width_of

if TYPE_CHECKING:
    from analysis.answers import Answer

_READER_GONE = {False: errno.EPIPE, True: errno.EIO}
"""The error of a pipe whose reader has exited (`| head`), and of a closed terminal. A file's EIO is a disk error."""


def say(text: str, *, err: bool = False) -> None:
    """Print lines that may contain untrusted names, wrapped on a terminal; control characters in them are escaped."""
    from analysis.wording.plain_text import printable

    width = width_of(sys.stderr if err else sys.stdout)
    click.echo(message(printable(text, keep="\n"), width), err=err)


def print_answer(answer: Answer, form: str) -> None:
    """Print an answer as a table, or its rows as csv or json."""
    if form == "table":
        from analysis.tables import terminal

        answer.show(terminal.console())
    else:
        from analysis.export.plain_rows import as_text

        click.echo(as_text(answer.rows, form), nl=False)


def tell_unloaded(results: Path) -> None:
    """Name the sessions whose session.json is newer than the database: a query answers without them."""
    from analysis.database.connections import database_path

    database = database_path(results)
    if not database.is_file():
        return
    loaded_ns = database.stat().st_mtime_ns
    heads = sorted(results.glob("*/session.json"))
    if names := [
        head.parent.name for head in heads if head.is_file() and head.stat().st_mtime_ns > loaded_ns
    ]:
        is_one = len(names) == 1
        known = names[-1] if is_one else f"{len(names):,} sessions, the last {names[-1]},"
        load = shlex.join(["bench", "load", str(results)])
        say(
            f"bench: {known} {'is' if is_one else 'are'} newer than the database: run `{load}` first",
            err=True,
        )


def outlive_readers() -> None:
    """From now on output that no one reads is discarded: it ends no session and changes no exit code.

    Streams that were replaced, as by a test, stay as they are."""
    sys.stdout = _outliving(sys.stdout, sys.__stdout__)
    sys.stderr = _outliving(sys.stderr, sys.__stderr__)


def _outliving(stream: TextIO, own: TextIO | None) -> TextIO:
    if stream is not own:
        return stream
    stream.flush()
    wrapper = cast("io.TextIOWrapper", stream)
    return io.TextIOWrapper(
        io.BufferedWriter(_OutlivingFile(stream.fileno())),
        encoding=wrapper.encoding,
        errors=wrapper.errors,
        line_buffering=wrapper.line_buffering,
    )


class _OutlivingFile(io.FileIO):
    """A descriptor that becomes /dev/null once its reader is gone."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self._reader_gone = _READER_GONE[self.isatty()]

    def write(self, text: Any) -> int:
        try:
            return super().write(text)
        except OSError as error:
            if error.errno != self._reader_gone:
                raise
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            return len(memoryview(text).cast("B"))
