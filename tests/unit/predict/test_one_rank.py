"""A rank's computation from measured runs of one rank."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from bench import strategies
from bench.predict.machine import Machine, Measured
from bench.predict.one_rank import OneRank, Phases, phases_of
from bench.records.run_spec import RunSpec
from bench.records.vocabulary import COMMAND
from tests.factory import Case, specs


def spec_of(strategy: str, ranks: int, batch: int, **train: Any) -> RunSpec:
    (found,) = specs(Case(name="case", strategy=strategy, step_ms={ranks: 1.0}, repeats=1), "s", "suite", ())
    options = dataclasses.asdict(strategies.load(strategy).Options())
    return dataclasses.replace(
        found,
        batch_per_rank=batch,
        strategy_options=options,
        threads=1,
        train=dataclasses.replace(found.train, **train),
    )


def measured(strategy: str, batch: int, forward_s: float, optimizer_s: float, **train: Any) -> OneRank:
    phases = Phases(data_s=0.0, forward_s=forward_s, backward_s=2 * forward_s, optimizer_s=optimizer_s)
    return OneRank(spec=spec_of(strategy, 1, batch, **train), phases=phases, session_id="s")


def found(strategy: str, ranks: int, batch: int, *runs: OneRank, share: float = 1.0) -> Phases:
    phases = phases_of(spec_of(strategy, ranks, batch), runs, share=share)
    assert phases is not None
    return phases


def test_the_same_batch_takes_as_long_as_measured() -> None:
    runs = [measured("ddp", 8, forward_s, 1.0) for forward_s in (3.0, 4.0, 9.0)]
    assert found("ddp", 2, 8, *runs) == runs[1].phases


def test_another_batch_is_on_the_line_through_two_measured_ones() -> None:
    runs = [measured("ddp", 8, 5.0, 1.0), measured("ddp", 4, 3.0, 1.0)]
    assert found("ddp", 2, 2, *runs).forward_s == pytest.approx(2.0)
    assert found("ddp", 2, 4, *runs).forward_s == 3.0
    assert found("ddp", 2, 2, runs[0]).forward_s == pytest.approx(5.0 / 4)


def test_a_batch_that_only_the_command_knows_takes_as_long_as_the_measured_one() -> None:
    assert found("ddp", 2, 0, measured("ddp", 8, 5.0, 1.0)).forward_s == 5.0
    assert found("ddp", 2, 8, measured("ddp", 0, 5.0, 1.0)).forward_s == 5.0


def test_batches_that_noise_orders_say_nothing_about_a_slope() -> None:
    """A line through them would reach 0, and below."""
    falling = [measured("ddp", 1, 0.010, 1.0), measured("ddp", 2, 0.009, 1.0)]
    assert found("ddp", 2, 16, *falling).forward_s == pytest.approx(0.009 / 2 * 16)
    steep = [measured("ddp", 8, 1.0, 1.0), measured("ddp", 16, 4.0, 1.0)]
    assert found("ddp", 2, 4, *steep).forward_s == pytest.approx(1.0 / 2)


def test_the_strategys_own_work_shrinks_neither_with_the_batch_nor_with_the_ranks() -> None:
    runs = measured("fsdp", 8, 5.0, 3.0), measured("single", 8, 4.0, 1.0)
    phases = found("fsdp", 4, 2, *runs, share=1 / 4)
    assert phases.forward_s == pytest.approx(1.0 + 4.0 / 4)
    assert phases.optimizer_s == pytest.approx(2.0 + 1.0 / 4)


def test_the_model_alone_says_what_sharded_ranks_compute() -> None:
    phases = found("fsdp", 4, 8, measured("single", 8, 4.0, 2.0), share=1 / 4)
    assert (phases.forward_s, phases.optimizer_s) == (4.0, 0.5)


def test_a_run_with_other_settings_says_nothing() -> None:
    other = measured("ddp", 8, 4.0, 1.0, clip_norm=1.0)
    assert phases_of(spec_of("ddp", 2, 8), [other]) is None
    assert phases_of(spec_of("ddp", 2, 8), [measured("ddp", 8, 4.0, 1.0, learning_rate=0.5)]) is not None


def test_only_sessions_whose_runs_are_used_are_named() -> None:
    used = measured("ddp", 8, 3.0, 1.0)
    other = dataclasses.replace(measured("ddp", 8, 3.0, 1.0, precision="bf16"), session_id="elsewhere")
    machine = Machine(
        fabrics={"cpu": None},
        measured={"cpu": Measured(ranks=(used, other))},
        given_tflops=None,
        given_memory_bytes=None,
        cpus_per_node=2,
    )
    ours, unmeasured = spec_of("ddp", 2, 8), spec_of("ddp", 2, 8, precision="fp16")
    assert machine.sources("cpu", [ours])[1] == "computation: as measured on one rank in s"
    both = machine.sources("cpu", [ours, unmeasured])[1]
    assert both.startswith("computation: as measured on one rank in s; of other cases not known; measure")
    assert machine.sources("cpu", [unmeasured])[1].startswith("computation: not known; measure")


def test_the_examples_of_a_script_are_taken_to_be_those_that_were_measured() -> None:
    spec = dataclasses.replace(spec_of("ddp", 2, 8), workload=COMMAND)
    used = dataclasses.replace(measured("ddp", 8, 3.0, 1.0), spec=spec)
    machine = Machine(
        fabrics={"cpu": None},
        measured={"cpu": Measured(ranks=(used,))},
        given_tflops=None,
        given_memory_bytes=None,
        cpus_per_node=2,
    )
    said = "computation: as measured on one rank in s, with as many examples on each rank as there"
    assert machine.sources("cpu", [spec])[1] == said
