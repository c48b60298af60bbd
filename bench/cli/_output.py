"""Output of a command: control characters are escaped, and a reader that exits early ends nothing."""

from __future__ import annotations

import errno
import io
import os
import sys
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
