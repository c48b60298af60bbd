"""The length of a run in optimizer steps."""

from __future__ import annotations

import math

from bench.records.run_spec import MeasureSpec


def run_length(measure: MeasureSpec, dataset_size: int, global_batch: int) -> int:
    """Warm-up and measured optimizer steps together, of a run whose suite gives its measured steps or its epochs."""
    measured = measure.steps
    if measured is None:
        assert measure.epochs is not None, "a suite has steps or epochs"
        measured = math.ceil(measure.epochs * dataset_size / global_batch)
    return measure.warmup + measured
