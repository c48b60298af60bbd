"""DDP compared with FSDP at one size: the faster one, the one that fits, and the recommendation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import ttest_ind

from tests.factory import Case, make_session
from tests.unit.analysis.conftest import derive_again

GB = 10**9
DDP = (100.0, 102.0, 98.0)


def _pair(other=DDP, *, ddp=None, fsdp=None, **both):
    both = {"device_type": "cuda", "memory_bytes": 10 * GB} | both
    return [
        Case(**({"name": "ddp", "step_ms": {2: DDP}} | both | (ddp or {}))),
        Case(**({"name": "fsdp", "strategy": "fsdp", "step_ms": {2: other}} | both | (fsdp or {}))),
    ]


@pytest.fixture
def compared(measure):
    """The one row of a session of both."""

    def run(*arguments, **values):
        (row,) = measure(*_pair(*arguments, **values))("FROM strategy_comparison")
        return row

    return run


def _oom(*repeats):
    return {"statuses": {(2, repeat): "oom" for repeat in repeats}}


def test_the_faster_one_is_recommended_with_its_interval(compared):
    other = (112.0, 113.0, 114.0)
    row = compared(other)
    difference = ttest_ind(np.log(other), np.log(DDP), equal_var=False)
    lo, hi = (math.exp(end) for end in difference.confidence_interval())
    assert row["time_ratio_lo"] == pytest.approx(lo, rel=1e-3)
    assert row["time_ratio_hi"] == pytest.approx(hi, rel=1e-3)
    assert row["time_ratio"] == pytest.approx(math.exp(np.mean(np.log(other)) - np.mean(np.log(DDP))))
    assert (row["recommendation"], row["reference_case"], row["case_name"]) == ("ddp", "ddp", "fsdp")
    figures = [round(100 * (ratio - 1)) for ratio in (row["time_ratio"], lo, hi)]
    assert row["reason"] == "ddp: {} % more examples/s [{}, {}] and both fit".format(*figures)


def test_fsdp_may_be_the_faster_one(compared):
    row = compared((80.0, 80.5, 79.5))
    assert row["recommendation"] == "fsdp"
    assert row["reason"].startswith("fsdp: 25 % more examples/s [")


NARROW = (100.0, 100.2, 99.8)


@pytest.mark.parametrize(
    ("ddp_gb", "fsdp_gb", "recommendation", "reason"),
    [
        (10, 5.9, "fsdp", "as fast within 5 % and 41 % less memory"),
        (6, 10, "ddp", "as fast within 5 % and 40 % less memory"),
        (10, 9.1, "either", "as fast within 5 %, with as much memory within 10 %"),
    ],
)
def test_where_both_are_as_fast_memory_decides(compared, ddp_gb, fsdp_gb, recommendation, reason):
    memory = {"ddp": {"memory_bytes": int(ddp_gb * GB)}, "fsdp": {"memory_bytes": int(fsdp_gb * GB)}}
    row = compared(**{name: given | {"step_ms": {2: NARROW}} for name, given in memory.items()})
    assert (row["recommendation"], row["reason"]) == (recommendation, f"{recommendation}: {reason}")
    assert row["memory_ratio"] == pytest.approx(fsdp_gb / ddp_gb)


def test_on_a_cpu_memory_is_the_whole_process_and_does_not_decide(measure):
    cases = _pair(NARROW, ddp={"step_ms": {2: NARROW}}, fsdp={"memory_bytes": GB}, device_type="cpu")
    (row,) = measure(*cases)("FROM strategy_comparison")
    assert (row["recommendation"], row["reason"]) == ("either", "either: as fast within 5 %")
    assert row["memory_ratio"] == 0.1


def test_repeats_that_differ_by_more_leave_it_open(compared):
    row = compared((100.0, 140.0, 80.0))
    assert row["recommendation"] == "undecided"
    assert row["reason"].startswith("undecided: ddp has 4 % more examples/s [-")
    assert row["reason"].endswith("]: repeats differ by more")


def test_two_repeats_that_say_next_to_nothing_have_a_bound_that_is_not_counted_out(compared):
    row = compared((110.0, 8000.0), ddp={"step_ms": {2: (100.0, 101.0)}}, repeats=2)
    assert row["time_ratio_hi"] > 2**31
    assert row["recommendation"] == "undecided"
    assert row["reason"].endswith(", more than 1000]: repeats differ by more")


def test_one_repeat_a_side_decides_nothing(compared):
    row = compared((200.0,), ddp={"step_ms": {2: (100.0,)}}, repeats=1)
    assert (row["time_ratio"], row["time_ratio_lo"]) == (2.0, None)
    assert row["reason"] == "undecided: an interval needs two ok repeats a side"


def test_what_fits_is_recommended_over_what_does_not(compared):
    row = compared((500.0, 501.0, 499.0), ddp=_oom(0, 1, 2))
    assert (row["reference_fits"], row["fits"], row["memory_ratio"]) == (False, True, None)
    assert row["reason"] == "fsdp: ddp ran out of memory in 3 of 3 runs"


def test_a_strategy_that_ran_out_of_memory_once_does_not_fit(compared):
    row = compared((50.0, 50.0, 50.0), fsdp=_oom(1))
    assert (row["fits"], row["recommendation"]) == (False, "ddp")
    assert row["reason"] == "ddp: fsdp ran out of memory in 1 of 3 runs"


def test_where_neither_fits_there_is_nothing_to_recommend(compared):
    row = compared(ddp=_oom(0, 1, 2), fsdp=_oom(0, 2))
    assert row["reason"] == (
        "undecided: ddp ran out of memory in 3 of 3 runs, fsdp ran out of memory in 2 of 3 runs"
    )


@pytest.mark.parametrize(("failing", "strategy"), [("ddp", "ddp"), ("fsdp", "fsdp")])
def test_without_an_ok_run_of_one_nothing_is_recommended(compared, failing, strategy):
    row = compared(**{failing: {"statuses": {(2, repeat): "failed" for repeat in range(3)}}})
    assert row["reason"] == f"undecided: {strategy} has no ok run"


def test_ranks_that_shared_slots_decide_nothing(compared):
    row = compared((200.0, 201.0, 199.0), fsdp={"oversubscribed": frozenset({2})})
    assert row["reason"] == "undecided: ranks shared slots, which is measured and never judged"


@pytest.mark.parametrize(
    "other",
    [
        {"precision": "bf16"},
        {"batch": 128},
        {"scaling": "weak"},
        {"workload": "mnist_cnn"},
        {"device_type": "cpu"},
        {"strategy": "ddp"},
        {"step_ms": {4: 50.0}},
    ],
)
def test_cases_that_differ_in_more_than_the_strategy_are_not_compared(measure, other):
    assert measure(*_pair(fsdp=other))("FROM strategy_comparison") == []


def test_training_settings_must_be_the_same(results, read_back, in_memory):
    make_session(results, _pair())
    ask = read_back()
    in_memory.execute(
        "UPDATE runs SET config = json_merge_patch(config, '{\"train\": {\"compile\": true}}') WHERE strategy = 'fsdp'"
    )
    derive_again(in_memory)
    assert ask("FROM strategy_comparison") == []


def test_every_size_that_both_ran_has_its_row(measure):
    sizes = {"step_ms": {1: NARROW, 2: NARROW, 4: NARROW}}
    rows = measure(*_pair(ddp=sizes, fsdp=sizes))("FROM strategy_comparison ORDER BY workers")
    assert [row["placement"] for row in rows] == ["1x1", "1x2", "1x4"]


def test_of_several_ddp_cases_the_suites_first_is_the_reference(measure):
    plain, other = _pair()
    static = Case(
        name="an_option", step_ms={2: DDP}, strategy_options={"static_graph": True}, device_type="cuda"
    )
    rows = measure(plain, static, other)("FROM strategy_comparison")
    assert [(row["reference_case"], row["case_name"]) for row in rows] == [("ddp", "fsdp")]
