"""A moment of a program that a test wants to act in: the program waits there, and the test knows that it does."""

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
"""Of fcntl(2): which signal tells the holder of a lease that somebody wants the file."""


def until(condition: Callable[[], object], ended: Callable[[], object] = lambda: None) -> None:
    """Wait for it. What `ended` says, where it says something, is why it will never come."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        why = ended()
        assert why is None, why
        assert time.monotonic() < deadline
        time.sleep(0.02)


@contextmanager
def about_to_write(path: Path) -> Iterator[Callable[[], bool]]:
    """Within `with`, whoever opens `path` to write it waits; what is given says whether somebody does.

    The kernel's lease (fcntl(2), F_SETLEASE) breaks by itself after 45 s."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    fd = os.open(path, os.O_RDONLY)
    fcntl.fcntl(fd, _F_SETSIG, signal.SIGURG)  # which nobody minds
    fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    try:
        yield lambda: fcntl.fcntl(fd, fcntl.F_GETLEASE) != fcntl.F_RDLCK
    finally:
        os.close(fd)
