"""The measured loop, for real: the allowed places of validation, and the order of calls to the clock."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import torch
from runs import spec, workload

from bench import strategies
from bench.data import loader
from bench.measure import recorder
from bench.measure.clock_cpu import CpuClock
from bench.measure.recorder import StepFile
from bench.records.run_spec import MeasureSpec
from bench.train.loop import Training
from bench.train.run_length import run_length


def training(every: int, until_loss: float | None = None) -> Training:
    """Two warm-up and eight measured steps of spiral_mlp on one rank."""
    measure = MeasureSpec(warmup=2, steps=8, validate_every=every, until_loss=until_loss)
    run, made = dataclasses.replace(spec(batch_per_rank=8), measure=measure), workload("spiral_mlp")
    single = strategies.load("single")
    strategy, device = single(single.Options()), torch.device("cpu")
    model = strategy.wrap(made.model(), [], device=device, precision="fp32")
    batches = loader.batches(made, run, 0, 10)
    return Training(
        spec=run,
        workload=made,
        strategy=strategy,
        own_model=model,
        model=model,
        device=device,
        batches=batches,
        limit=run_length(run.measure, made.dataset_size, run.global_batch),
    )


class TellingClock(CpuClock):
    """The real clock, which also reports its calls."""

    def __init__(self, path: Path) -> None:
        super().__init__(StepFile(path, 10, {"rank": 0}))
        self.told: list[str] = []

    def flush(self) -> None:
        super().flush()
        self.told.append("flush")

    def resume(self) -> None:
        super().resume()
        self.told.append("resume")


@pytest.mark.parametrize(
    ("every", "expected"),
    [(0, [10]), (1, [*range(1, 11)]), (4, [4, 8, 10]), (5, [5, 10]), (10, [10]), (99, [10])],
)
def test_validation_comes_every_so_many_steps_and_once_at_the_end(
    tmp_path: Path, every: int, expected: list[int]
) -> None:
    clock, validated = TellingClock(tmp_path / "steps.raw"), []
    training(every).run(clock, validated.append)
    assert validated == expected


def test_every_row_is_complete_when_validation_begins_and_the_clock_learns_of_its_end(tmp_path: Path) -> None:
    clock, seen = TellingClock(tmp_path / "steps.raw"), []

    def validate(steps: int) -> None:
        clock.told.append(f"validate {steps}")
        seen.append(len(recorder.read(tmp_path / "steps.raw").words))

    training(4).run(clock, validate)
    assert seen == [4, 8, 10]
    assert clock.told == [
        "flush", "validate 4", "resume", "flush", "validate 8", "resume", "flush", "validate 10",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("losses", "steps"),
    [
        ({4: 0.5}, 4),  # at the target
        ({4: 0.6, 6: 0.1}, 6),
        ({2: 0.1}, 4),  # reached in the warm-up: the training goes on until a step was measured
        ({2: 0.1, 4: 0.9}, 4),
        ({4: float("nan"), 8: 0.4}, 8),
        ({}, 10),
        ({10: 0.1}, 10),  # at the limit
    ],
)
def test_a_training_ends_at_the_validation_that_reaches_its_target_or_at_its_limit(
    tmp_path: Path, losses: dict[int, float], steps: int
) -> None:
    clock, validated = TellingClock(tmp_path / "steps.raw"), []
    one = training(2, until_loss=0.5)

    def validate(step: int) -> float:
        validated.append(step)
        return losses.get(step, 0.9)

    one.run(clock, validate)
    assert validated == [*range(2, steps + 1, 2)]
    assert one.steps == steps
    assert one.reached_target == bool(losses)
    assert len(recorder.read(tmp_path / "steps.raw").words) == steps


def test_without_a_target_no_loss_ends_a_training(tmp_path: Path) -> None:
    one = training(2)
    one.run(TellingClock(tmp_path / "steps.raw"), lambda _step: 0.0)
    assert (one.steps, one.reached_target) == (10, False)
