"""The host's clock: marks become phases that add up to the step, with one micro-batch or several."""

from __future__ import annotations

from pathlib import Path

import torch

from bench.measure import recorder
from bench.measure.clock_cpu import CpuClock
from bench.measure.recorder import MEASURED, StepFile


def phases(folder: Path, marks: list[int]) -> list[int]:
    path = folder / "steps.raw"
    CpuClock(StepFile(path, 1, {"rank": 0})).step_done(marks, torch.tensor(0.5), MEASURED)
    rows = recorder.read(path)
    assert rows.column("loss").tolist() == [0.5]
    names = ("start_ns", "data_ns", "forward_ns", "backward_ns", "optimizer_ns")
    assert rows.column("step_ns")[0] == sum(rows.column(name)[0] for name in names[1:])
    return [int(rows.column(name)[0]) for name in names]


def test_one_micro_batch_has_five_marks(tmp_path: Path) -> None:
    assert phases(tmp_path, [100, 110, 130, 170, 250]) == [100, 10, 20, 40, 80]


def test_phases_of_several_micro_batches_are_summed(tmp_path: Path) -> None:
    start, first, second, end = 100, [110, 130, 170], [171, 201, 301], 350
    assert phases(tmp_path, [start, *first, *second, end]) == [100, 10 + 1, 20 + 30, 40 + 100, 49]


def test_marks_are_on_the_monotonic_clock_that_every_process_of_a_node_shares(tmp_path: Path) -> None:
    import time

    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    mark = CpuClock.mark()
    assert before <= mark <= time.clock_gettime_ns(time.CLOCK_MONOTONIC)
