"""A real terminal of a given width, and what a program writes to it."""

from __future__ import annotations

import os
import re
import termios
import threading
from contextlib import suppress
from typing import Self, TextIO


class Terminal:
    """A pseudo-terminal that is read until the program's end of it, `stream`, is closed."""

    def __init__(self, columns: int) -> None:
        self._master, slave = os.openpty()
        termios.tcsetwinsize(slave, (24, columns))
        self.stream: TextIO = os.fdopen(slave, "w", encoding="utf-8")
        self._written = b""
        self._reader = threading.Thread(target=self._read)

    def __enter__(self) -> Self:
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.close()
        self._reader.join()
        os.close(self._master)

    def _read(self) -> None:
        with suppress(OSError):  # everything was read, and the other end is closed
            while True:
                self._written += os.read(self._master, 1 << 16)

    def type(self, keys: str) -> None:
        """Press these keys."""
        os.write(self._master, keys.encode())

    def lines(self) -> list[str]:
        """All lines, without control sequences. Closes the stream. Where a line was drawn over another, the last."""
        self.stream.close()
        self._reader.join()
        text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self._written.decode())
        return [line.rstrip("\r").split("\r")[-1] for line in text.split("\n")]
