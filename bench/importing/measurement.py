"""One training or one figure that a file reports, and a file's problems."""

from __future__ import annotations

from dataclasses import dataclass, field

from bench.common.errors import InputError

MOST_PROBLEMS = 20
"""Most problems that a message lists; it only counts further ones."""


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One training from start to end, or a published figure; null is unknown."""

    place: str
    """Where the file reports it: `line 3`, or the file name of a log."""
    case: str
    scaling: str
    world_size: int
    nodes: int = 1
    repeat: int
    round: int | None = None
    """Every size is measured once in a round."""
    position: int | None = None
    """Position in the round, in the order of time."""
    seconds: float | None = None
    """Null only if `throughput` is known."""
    throughput: float | None = None
    """As the file reports it, in `throughput_unit`; null: examples ÷ seconds."""
    throughput_unit: str | None = None
    examples: int | None = None
    """Examples that the training processed, over all epochs and ranks."""
    epochs: int | None = None
    val_loss: float | None = None
    """The best of the training."""
    val_accuracy: float | None = None
    """The best of the training, a fraction."""
    job_id: str | None = None
    strategy: str | None = None
    tag: str | None = None
    workload: str | None = None
    device_type: str | None = None
    device_name: str | None = None
    precision: str | None = None
    batch_per_rank: int | None = None
    global_batch: int | None = None
    parameters: int | None = None
    tokens_per_example: float | None = None

    @property
    def size(self) -> tuple[str, int, int]:
        """Case, ranks and nodes: equal for repeats."""
        return self.case, self.world_size, self.nodes


@dataclass(kw_only=True)
class Problems:
    """All problems of a file, so that they can be fixed in one go."""

    file: str
    count: int = 0
    _first: list[str] = field(default_factory=list)

    def add(self, place: str, what: str) -> None:
        self.count += 1
        if len(self._first) < MOST_PROBLEMS:
            self._first.append(f"{place}: {what}")

    def raise_if_any(self) -> None:
        """Raises InputError with all problems, or with the first MOST_PROBLEMS and the number of further ones."""
        if self.count == 0:
            return
        lines = list(self._first)
        if self.count > MOST_PROBLEMS:
            lines.append(f"and {self.count - MOST_PROBLEMS:,} more")
        problems = "1 problem" if self.count == 1 else f"{self.count:,} problems"
        raise InputError("\n  ".join([f"{self.file}: {problems}, nothing was imported:", *lines]))
