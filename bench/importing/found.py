"""What is read from a file: one whole training, and where it stands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn

from bench.errors import InputError

MOST_PROBLEMS = 20
"""That are named; of further ones the number is said."""


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One training from begin to end; what is not known is null."""

    place: str
    """Where it stands: `line 3`, or a log's file name."""
    case: str
    scaling: str
    world_size: int
    nodes: int = 1
    repeat: int
    seconds: float
    examples: int | None = None
    """That the training processed, over all epochs and ranks."""
    epochs: int | None = None
    val_loss: float | None = None
    """The best of the training."""
    val_accuracy: float | None = None
    """The best of the training, a fraction."""
    job_id: str | None = None
    strategy: str | None = None
    tag: str | None = None

    @property
    def size(self) -> tuple[str, int, int]:
        """What repeats have in common."""
        return self.case, self.world_size, self.nodes


@dataclass(kw_only=True)
class Problems:
    """Everything that is wrong with a file, so that it can be mended in one go."""

    file: str
    count: int = 0
    _first: list[str] = field(default_factory=list)

    def add(self, place: str, what: str) -> None:
        self.count += 1
        if len(self._first) < MOST_PROBLEMS:
            self._first.append(f"{place}: {what}")

    def raise_if_any(self) -> None:
        """Raises InputError with all of them, or with the first MOST_PROBLEMS and a count."""
        if self.count:
            self.refuse()

    def refuse(self) -> NoReturn:
        count, lines = self.count, list(self._first)
        if count > MOST_PROBLEMS:
            lines.append(f"and {count - MOST_PROBLEMS:,} more")
        what = "1 problem" if count == 1 else f"{count:,} problems"
        raise InputError("\n  ".join([f"{self.file}: {what}, nothing was imported:", *lines]))
