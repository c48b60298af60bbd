"""The length of a run in optimizer steps, and that of an epoch, for schedules that depend on it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bench.records.run_spec import MeasureSpec


@dataclass(frozen=True, kw_only=True)
class RunLength:
    """The length of a run."""

    steps: int
    """Warm-up and measured optimizer steps together."""
    dataset_size: int | None
    """Examples in an epoch; null for a stream, whose length is not known."""
    global_batch: int
    """Examples in an optimizer step."""

    @property
    def steps_per_epoch(self) -> int | None:
        """Optimizer steps in an epoch, rounded up; null for a stream."""
        return self.steps_in(1)

    def steps_in(self, epochs: float) -> int | None:
        """Optimizer steps in that many epochs, rounded up; null for a stream."""
        return None if self.dataset_size is None else _steps(epochs, self.dataset_size, self.global_batch)


def run_length(measure: MeasureSpec, dataset_size: int | None, global_batch: int) -> RunLength:
    """The length of a run that the suite gives in steps or, unless it trains on a stream, in epochs."""
    measured = measure.steps
    if measured is None:
        assert measure.epochs is not None, "a suite has steps or epochs"
        assert dataset_size is not None, "the suite's check refuses epochs of a stream"
        measured = _steps(measure.epochs, dataset_size, global_batch)
    return RunLength(steps=measure.warmup + measured, dataset_size=dataset_size, global_batch=global_batch)


def _steps(epochs: float, dataset_size: int, global_batch: int) -> int:
    return math.ceil(epochs * dataset_size / global_batch)
