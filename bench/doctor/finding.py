"""Findings of checks: one line each, and a remedy if something is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "warn", "fail"]
"""`warn`: runs work, but may be slow or use other devices than meant. `fail`: runs are impossible."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One line of `bench doctor`."""

    topic: str
    """Name of the check's file."""
    level: Level
    text: str
    """The finding, with its values."""
    remedy: str | None = None
    """The remedy; null if, and only if, the level is ok."""


@dataclass(frozen=True)
class Verdict:
    """A finding without its topic."""

    level: Level
    text: str
    remedy: str | None = None


Verdicts = Iterator[Verdict]


def counted(number: int | str, noun: str) -> str:
    """`1 rank`, `4 ranks`. The number is a text if it comes from Slurm."""
    return f"{number} {noun}" if str(number) == "1" else f"{number} {noun}s"


def ok(text: str) -> Verdict:
    return Verdict("ok", text)


def warn(text: str, remedy: str) -> Verdict:
    return Verdict("warn", text, remedy)


def fail(text: str, remedy: str) -> Verdict:
    return Verdict("fail", text, remedy)
