"""Whoever reads what a session prints may leave before it ends; that ends no session and changes no exit code."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Any, TextIO, cast

_GONE = {False: errno.EPIPE, True: errno.EIO}
"""Of a pipe whose reader has ended (`| head`), and of a terminal that is closed: a file's EIO is its disk's."""


def outlive_readers() -> None:
    """From now on what nobody can read goes nowhere. Streams that are not the process's own stay as they are."""
    sys.stdout = _outliving(sys.stdout, sys.__stdout__)
    sys.stderr = _outliving(sys.stderr, sys.__stderr__)


def _outliving(stream: TextIO, own: TextIO | None) -> TextIO:
    if stream is not own:
        return stream
    stream.flush()
    wrapper = cast("io.TextIOWrapper", stream)
    return io.TextIOWrapper(
        io.BufferedWriter(_Outliving(stream.fileno())),
        encoding=wrapper.encoding,
        errors=wrapper.errors,
        line_buffering=wrapper.line_buffering,
    )


class _Outliving(io.FileIO):
    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self._gone = _GONE[self.isatty()]

    def write(self, text: Any) -> int:
        try:
            return super().write(text)
        except OSError as error:
            if error.errno != self._gone:
                raise
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            return len(memoryview(text).cast("B"))
