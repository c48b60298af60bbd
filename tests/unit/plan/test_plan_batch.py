"""find_batch: the micro-batches that are tried, the conclusions, and the runs that are then measured."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.plan.find_batch import (
    Found,
    Probed,
    accumulation,
    candidates,
    measured,
    micro_batches,
    outcome_of,
    pending_sizes,
    probe_of,
    settled,
)
from bench.plan.plan import plan
from bench.records.run_spec import FindSpec, MeasureSpec, PlannedRun, RunSpec
from tests.unit.plan.test_plan import LAPTOP, case, strong, suite


def pending(**keys: Any) -> PlannedRun:
    """The first run of a case with find_batch."""
    written: dict[str, Any] = {"find_batch": FindSpec(), "measure": MeasureSpec(steps=10, repeats=2)}
    return plan(suite(case(**(written | keys))), LAPTOP, "s")[0]


@given(st.integers(1, 3_000), st.integers(1, 4_000))
def test_accumulation_is_the_fewest_equal_micro_batches_that_fit(wanted: int, largest: int) -> None:
    count = accumulation(wanted, largest)
    assert wanted % count == 0
    assert wanted // count <= largest
    fewer = range(1, count)
    assert not any(wanted % other == 0 and wanted // other <= largest for other in fewer)


def test_the_largest_batch_that_a_suite_can_write_is_divided_at_once() -> None:
    assert accumulation(2**31 - 1, 4096) == 2**31 - 1  # a prime: one by one
    assert accumulation(2**30, 4096) == 2**18


@given(st.integers(1, 5_000), st.integers(1, 5_000), st.integers(0, 5_000))
def test_micro_batches_double_up_to_the_bound(smallest: int, largest: int, wanted: int) -> None:
    bound = min(largest, wanted) if wanted else largest
    sizes = micro_batches(FindSpec(smallest=smallest, largest=largest), wanted)
    assert sizes[0] == min(smallest, bound)
    assert sizes[-1] == bound
    assert all(after == 2 * before for before, after in pairwise(sizes[:-1]))
    assert all(before < after <= 2 * before for before, after in pairwise(sizes))


OK, OOM, CRASH = (Probed(status=status, is_final=True) for status in ("ok", "oom", "failed"))
LOST = Probed(status="failed", is_final=False)


@pytest.mark.parametrize(
    ("probed", "outcome"),
    [
        ({}, 1),
        ({1: OK, 2: OK}, 4),
        ({1: OK, 2: LOST}, 2),
        ({1: OK, 2: OK, 4: OOM}, Found(largest=2, too_large=4)),
        ({1: OK, 2: CRASH}, Found(largest=1, too_large=2)),
        ({1: OOM}, Found(largest=None, too_large=1)),
        ({1: OK, 2: OK, 4: OK, 6: OK}, Found(largest=6, too_large=None)),
    ],
)
def test_the_search_goes_on_until_one_does_not_fit_or_none_is_left(
    probed: dict[int, Probed], outcome: Found | int
) -> None:
    assert outcome_of([1, 2, 4, 6], probed) == outcome


def test_a_probing_run_is_short_and_accumulates_where_the_measured_one_will() -> None:
    run = pending(batch_per_rank=48, world=[2], measure=MeasureSpec(epochs=2, repeats=3, validate_every=5))
    probe = probe_of(run, 8, 2**30).spec
    assert (probe.run_id, probe.probe, probe.repeat) == ("a.1x2.find8.r0", True, 0)
    assert (probe.batch_per_rank, probe.global_batch, probe.train.accumulate) == (16, 32, 2)
    assert probe.micro_batch == 8
    assert (probe.measure.warmup, probe.measure.steps, probe.measure.epochs) == (1, 2, None)
    assert (probe.measure.repeats, probe.measure.validate_every) == (1, 0)
    assert probe.measure.memory_limit_bytes == 2**30
    assert candidates(run.spec) == [1, 2, 4, 8, 16, 32, 48]
    assert probe_of(run, 48, None).spec.train.accumulate == 1


def test_a_run_is_settled_with_its_wanted_batch_or_with_the_largest() -> None:
    def batches(run: PlannedRun, largest: int) -> tuple[int, ...]:
        spec = settled(run, largest).spec
        return spec.batch_per_rank, spec.train.accumulate, spec.micro_batch, spec.global_batch

    assert batches(pending(batch_per_rank=96, world=[2]), 64) == (96, 2, 48, 192)
    assert batches(pending(scaling="none", batch_per_rank=None, world=[2]), 64) == (64, 1, 64, 128)
    run = pending(scaling="strong", batch_per_rank=None, global_batch=768, world=[2])
    assert batches(run, 100) == (384, 4, 96, 768)
    assert (run.pending, settled(run, 100).pending) == (True, False)


def test_only_sizes_that_can_be_hosted_are_searched_and_no_probe_is_measured() -> None:
    runs = plan(suite(strong(world=[1, 2, 64], find_batch=FindSpec()), case("b", world=[1])), LAPTOP, "s")
    sizes = pending_sizes(runs)
    assert [run.spec.run_id for run in sizes] == ["a.1x1.r0", "a.1x2.r0"]
    probes = tuple(probe_of(run, 1, None) for run in sizes)
    assert measured((*probes, *runs)) == runs


def test_a_specification_survives_the_way_to_its_ranks_and_an_old_one_has_no_search() -> None:
    spec = pending(world=[1]).spec
    assert RunSpec.from_json(spec.to_json()) == spec
    old = {key: value for key, value in spec.to_json().items() if key not in {"find_batch", "probe"}}
    assert (RunSpec.from_json(old).find_batch, RunSpec.from_json(old).probe) == (None, False)
    assert RunSpec.from_json(old | {"strategy": "script"}).strategy == "command"
