"""Stop requests: Ctrl-C, SIGTERM, a closed terminal, a stop file. A flag, and a descriptor that wakes a wait."""

from __future__ import annotations

import os
import signal
from multiprocessing.connection import wait
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self

from bench.common.errors import ToldToStop


def raise_when_told() -> None:
    """From now on SIGTERM and SIGHUP raise ToldToStop, so that `with` and `finally` clean up."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:  # nohup stays nohup
            signal.signal(number, _raise)


def _raise(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - signal's signature
    # scancel sends SIGTERM twice: the second must not interrupt the cleanup
    for again in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(again, signal.SIG_IGN)
    raise ToldToStop(signal.Signals(number))


class StopRequest:
    """Within `with`, SIGINT, SIGTERM and SIGHUP set a flag instead of raising an exception."""

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None
        self._asked: str | None = None
        self.fd, self._write_fd = os.pipe()
        for fd in (self.fd, self._write_fd):
            os.set_blocking(fd, False)

    @property
    def requested(self) -> bool:
        return self.signal is not None or self._asked is not None

    @property
    def terminal_gone(self) -> bool:
        """No terminal is left: printing would raise."""
        return self.signal is signal.SIGHUP

    @property
    def reason(self) -> str:
        assert self.requested
        return f"stopped by {self.signal.name if self.signal is not None else self._asked}"

    @property
    def exit_code(self) -> int:
        """128 + the signal's number, as in shells; without a signal, as for SIGTERM."""
        assert self.requested
        return 128 + (signal.SIGTERM if self.signal is None else self.signal)

    def ask(self, by: str) -> None:
        """Request a stop without a signal."""
        if not self.requested:
            self._asked = by
            os.write(self._write_fd, b"x")

    def look_for(self, stop_file: Path) -> None:
        """Request a stop if that file exists."""
        if stop_file.exists():
            self.ask(f"the file {stop_file.name}")

    def wait(self, seconds: float) -> None:
        """Wait until a stop is requested, at most this long."""
        if not self.requested:
            wait([self.fd], seconds)  # select takes no descriptor above 1023

    def __enter__(self) -> Self:
        self._before = {
            number: signal.signal(number, self._note)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
            if signal.getsignal(number) is not signal.SIG_IGN  # nohup stays nohup
        }
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # if a signal ends the program, a second signal must not interrupt its last messages
        is_ending = self.signal is not None and self._before.get(signal.SIGTERM) is _raise
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_IGN if is_ending else handler)

    def _note(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - signal's signature
        if not self.requested:
            self.signal = signal.Signals(number)
            os.write(self._write_fd, b"x")
