"""Promises that every plan keeps, for any suite and slots."""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bench.common.errors import InputError
from bench.plan.plan import plan
from bench.records.run_spec import MeasureSpec, PlannedRun, Slots
from bench.suite.models import Case, ResolvedSuite
from tests.unit.plan.test_plan import case, suite

sizes = st.one_of(
    st.integers(1, 64), st.builds("{}x{}".format, st.integers(1, 4), st.integers(1, 8)), st.just("auto")
)
any_slots = st.builds(
    lambda nodes, gpus, cpus, fixed: Slots(
        nodes=nodes,
        slots_per_node=gpus or cpus,
        cpus_per_node=cpus,
        device_type="cuda" if gpus else "cpu",
        cuda_devices_per_node=gpus,
        fixed=fixed,
    ),
    st.integers(1, 4),
    st.integers(0, 8),
    st.integers(1, 64),
    st.booleans(),
)


@st.composite
def any_case(draw: st.DrawFn, name: str) -> Case:
    measure = MeasureSpec(steps=1, repeats=draw(st.integers(1, 3)))
    keys: dict[str, Any] = {"world": draw(st.lists(sizes, min_size=1, max_size=4)), "measure": measure}
    keys["device"] = draw(st.sampled_from(["auto", "cpu", "cuda"]))
    if draw(st.booleans()):
        keys["threads"] = [draw(st.integers(1, 8))]
    if draw(st.booleans()):
        return case(
            name,
            scaling="strong",
            batch_per_rank=None,
            global_batch=draw(st.sampled_from([64, 960, 7])),
            **keys,
        )
    return case(name, **keys)


any_suite = st.integers(1, 4).flatmap(
    lambda count: st.tuples(*(any_case(f"c{i}") for i in range(count))).map(lambda cases: suite(*cases))
)


@settings(max_examples=75, deadline=None)
@given(any_suite, any_slots, st.booleans())
def test_every_plan_keeps_its_promises(resolved: ResolvedSuite, slots: Slots, oversubscribe: bool) -> None:
    runs, refusal = _planned(resolved, slots, oversubscribe)
    assert runs or "does not divide among" in refusal
    assert (runs, refusal) == _planned(resolved, slots, oversubscribe)
    assert len({run.spec.run_id for run in runs}) == len(runs)
    for run in runs:
        _holds(run, slots, oversubscribe)
    _interleaved(runs)
    by_case = defaultdict(set)
    for run in runs:
        fixed = run.spec.global_batch if run.spec.scaling == "strong" else run.spec.batch_per_rank
        by_case[run.spec.case_name].add((fixed, run.spec.threads))
    assert all(len(values) == 1 for values in by_case.values()), (
        "one problem, one share of the machine, at every size"
    )


def _planned(
    resolved: ResolvedSuite, slots: Slots, oversubscribe: bool
) -> tuple[tuple[PlannedRun, ...], str]:
    try:
        return plan(resolved, slots, "session", oversubscribe=oversubscribe), ""
    except InputError as error:
        return (), str(error)


def _holds(run: PlannedRun, slots: Slots, oversubscribe: bool) -> None:
    spec = run.spec
    assert spec.world_size == spec.nodes * spec.ranks_per_node == spec.workers
    if run.skip_reason is not None:
        assert not spec.oversubscribed
        return
    assert spec.nodes <= slots.nodes
    assert spec.batch_per_rank * spec.world_size == spec.global_batch
    assert spec.device_type == "cpu" or slots.cuda_devices_per_node > 0
    if not oversubscribe and not slots.fixed:
        assert not spec.oversubscribed


def _interleaved(runs: tuple[PlannedRun, ...]) -> None:
    assert [run.spec.repeat for run in runs] == sorted(run.spec.repeat for run in runs)
    rounds = [list(group) for _, group in itertools.groupby(runs, key=lambda run: run.spec.repeat)]
    first = [run.spec.run_id.rpartition(".r")[0] for run in (rounds or [[]])[0]]
    for later in rounds[1:]:
        names = [run.spec.run_id.rpartition(".r")[0] for run in later]
        assert names == [name for name in first if name in set(names)]
