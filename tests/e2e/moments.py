"""Stop a program at the moment at which a test wants to act: the program waits, and the test knows that it does."""

from __future__ import annotations

import fcntl
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE_S = 240.0
_F_SETSIG = 10
"""Command of fcntl(2) that sets the signal for the holder of a lease when another process opens the file."""


def until(condition: Callable[[], object], ended: Callable[[], object] = lambda: None) -> None:
    """Wait for the condition. If `ended` returns a reason, the condition cannot come true any more."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        why = ended()
        assert why is None, why
        assert time.monotonic() < deadline
        time.sleep(0.02)


@contextmanager
def about_to_write(path: Path) -> Iterator[Callable[[], bool]]:
    """Within `with`, a process that opens `path` for writing waits; the yielded function returns whether one does.

    The kernel's lease (fcntl(2), F_SETLEASE) breaks by itself after 45 s."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    fd = os.open(path, os.O_RDONLY)
    fcntl.fcntl(fd, _F_SETSIG, signal.SIGURG)  # this signal is ignored by default
    fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    try:
        yield lambda: fcntl.fcntl(fd, fcntl.F_GETLEASE) != fcntl.F_RDLCK
    finally:
        os.close(fd)
