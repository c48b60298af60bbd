"""What no input may cost. Bounds are generous: they find what has no end, and time nothing."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

_LONGEST_S = 60


@contextmanager
def ends() -> Iterator[None]:
    """Fails where what is inside takes a minute, which no small input may."""

    def give_up(number: int, frame: object) -> None:
        raise AssertionError(f"no end within {_LONGEST_S} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(_LONGEST_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
