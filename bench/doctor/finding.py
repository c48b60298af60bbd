"""What a check says: one line, and where something is wrong what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "warn", "fail"]
"""`warn`: runs work, but worse or elsewhere than may be meant. `fail`: runs are impossible."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One line of `bench doctor`."""

    topic: str
    """File name of the check."""
    level: Level
    text: str
    """What was found, with its value."""
    remedy: str | None = None
    """What to do; null exactly where the level is ok."""


@dataclass(frozen=True)
class Verdict:
    """A finding before it is given its check's name."""

    level: Level
    text: str
    remedy: str | None = None


Verdicts = Iterator[Verdict]


def counted(number: int | str, noun: str) -> str:
    """`1 rank`, `4 ranks`; a number that Slurm wrote is a text."""
    return f"{number} {noun}" if str(number) == "1" else f"{number} {noun}s"


def ok(text: str) -> Verdict:
    return Verdict("ok", text)


def warn(text: str, remedy: str) -> Verdict:
    return Verdict("warn", text, remedy)


def fail(text: str, remedy: str) -> Verdict:
    return Verdict("fail", text, remedy)
