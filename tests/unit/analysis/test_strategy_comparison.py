"""DDP compared with FSDP at one size: the faster one, the one that fits, and the recommendation."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.stats import ttest_rel

from tests.factory import Case, write_json
from tests.unit.analysis.conftest import measured, session_of

GB = 10**9
DDP = (100.0, 102.0, 98.0)


def _pair(other=DDP, *, ddp=None, fsdp=None, **both):
    both = {"device_type": "cuda", "memory_bytes": 10 * GB} | both
    return [
        Case(**({"name": "ddp", "step_ms": {2: DDP}} | both | (ddp or {}))),
        Case(**({"name": "fsdp", "strategy": "fsdp", "step_ms": {2: other}} | both | (fsdp or {}))),
    ]


def both(*arguments, **values):
    """A session of both."""
    return session_of(*_pair(*arguments, **values))


def compared(*arguments, **values):
    return measured(*_pair(*arguments, **values))


@pytest.fixture
def row(ask):
    """The one row of a session of both."""
    (row,) = ask("FROM strategy_comparison")
    return row


def _oom(*repeats):
    return {"statuses": {(2, repeat): "oom" for repeat in repeats}}


SLOWER = (112.0, 113.0, 114.0)


@compared(SLOWER)
def test_the_faster_one_is_recommended_with_its_interval(row):
    difference = ttest_rel(np.log(SLOWER), np.log(DDP))
    lo, hi = (math.exp(end) for end in difference.confidence_interval())
    assert row["time_ratio_lo"] == pytest.approx(lo, rel=1e-3)
    assert row["time_ratio_hi"] == pytest.approx(hi, rel=1e-3)
    assert row["time_ratio"] == pytest.approx(math.exp(np.mean(np.log(SLOWER)) - np.mean(np.log(DDP))))
    assert (row["recommendation"], row["reference_case"], row["case_name"]) == ("ddp", "ddp", "fsdp")
    figures = [round(100 * (ratio - 1)) for ratio in (row["time_ratio"], lo, hi)]
    assert row["reason"] == "ddp: {} % more examples/s [{}, {}] and both fit".format(*figures)


@compared((80.0, 80.5, 79.5))
def test_fsdp_may_be_the_faster_one(row):
    assert row["recommendation"] == "fsdp"
    assert row["reason"].startswith("fsdp: 25 % more examples/s [")


NARROW = (100.0, 100.2, 99.8)


def _of_memory(ddp_gb, fsdp_gb):
    """Both are as fast."""
    memory = {"ddp": {"memory_bytes": int(ddp_gb * GB)}, "fsdp": {"memory_bytes": int(fsdp_gb * GB)}}
    return both(**{name: given | {"step_ms": {2: NARROW}} for name, given in memory.items()})


@pytest.mark.parametrize(
    ("ask", "memory_ratio", "reason"),
    [
        (_of_memory(10, 5.9), 0.59, "fsdp: as fast within 5 % and 41 % less memory"),
        (_of_memory(6, 10), 10 / 6, "ddp: as fast within 5 % and 40 % less memory"),
        (_of_memory(10, 9.1), 0.91, "either: as fast within 5 %, with as much memory within 10 %"),
    ],
    indirect=["ask"],
)
def test_where_both_are_as_fast_memory_decides(row, memory_ratio, reason):
    assert (row["recommendation"], row["reason"]) == (reason.partition(":")[0], reason)
    assert row["memory_ratio"] == pytest.approx(memory_ratio)


@measured(*_pair(NARROW, ddp={"step_ms": {2: NARROW}}, fsdp={"memory_bytes": GB}, device_type="cpu"))
def test_on_a_cpu_memory_is_the_whole_process_and_does_not_decide(row):
    assert (row["recommendation"], row["reason"]) == ("either", "either: as fast within 5 %")
    assert row["memory_ratio"] == 0.1


@compared((100.0, 140.0, 80.0))
def test_repeats_that_differ_by_more_leave_it_open(row):
    assert row["recommendation"] == "undecided"
    assert row["reason"].startswith("undecided: ddp has 4 % more examples/s [-")
    assert row["reason"].endswith("]: repeats differ by more")


@compared((110.0, 8e7, 100.0), ddp={"step_ms": {2: (100.0, 101.0, 100.0)}})
def test_repeats_that_say_next_to_nothing_have_a_bound_that_is_not_counted_out(row):
    assert row["time_ratio_hi"] > 2**31
    assert row["recommendation"] == "undecided"
    assert row["reason"].endswith(", more than 1000]: repeats differ by more")


@compared((200.0,), ddp={"step_ms": {2: (100.0,)}}, repeats=1)
def test_one_repeat_a_side_decides_nothing(row):
    assert (row["time_ratio"], row["time_ratio_lo"]) == (2.0, None)
    assert row["reason"] == "undecided: an interval needs three ok repeats of each"


@compared((200.0, 201.0), ddp={"step_ms": {2: (100.0, 101.0)}}, repeats=2)
def test_two_repeats_a_side_decide_nothing_either(row):
    assert (row["time_ratio_lo"], row["time_ratio_hi"], row["recommendation"]) == (None, None, "undecided")
    assert row["reason"] == "undecided: an interval needs three ok repeats of each"


@compared((500.0, 501.0, 499.0), ddp=_oom(0, 1, 2))
def test_what_fits_is_recommended_over_what_does_not(row):
    assert (row["reference_fits"], row["fits"], row["memory_ratio"]) == (False, True, None)
    assert row["reason"] == "fsdp: ddp ran out of memory in 3 of 3 runs"


@compared((50.0, 50.0, 50.0), fsdp=_oom(1))
def test_a_strategy_that_ran_out_of_memory_once_does_not_fit(row):
    assert (row["fits"], row["recommendation"]) == (False, "ddp")
    assert row["reason"] == "ddp: fsdp ran out of memory in 1 of 3 runs"


@compared(ddp=_oom(0, 1, 2), fsdp=_oom(0, 2))
def test_where_neither_fits_there_is_nothing_to_recommend(row):
    assert row["reason"] == (
        "undecided: ddp ran out of memory in 3 of 3 runs, fsdp ran out of memory in 2 of 3 runs"
    )


@pytest.mark.parametrize(
    ("ask", "strategy"),
    [
        (both(**{name: {"statuses": {(2, repeat): "failed" for repeat in range(3)}}}), name)
        for name in ("ddp", "fsdp")
    ],
    indirect=["ask"],
)
def test_without_an_ok_run_of_one_nothing_is_recommended(row, strategy):
    assert row["reason"] == f"undecided: {strategy} has no ok run"


@compared((200.0, 201.0, 199.0), fsdp={"oversubscribed": frozenset({2})})
def test_ranks_that_shared_slots_decide_nothing(row):
    assert row["reason"] == "undecided: ranks shared slots, which is measured and never judged"


@pytest.mark.parametrize(
    "ask",
    [
        both(fsdp={"precision": "bf16"}),
        both(fsdp={"batch": 128}),
        both(fsdp={"scaling": "weak"}),
        both(fsdp={"workload": "mnist_cnn"}),
        both(fsdp={"device_type": "cpu"}),
        both(fsdp={"strategy": "ddp"}),
        both(fsdp={"step_ms": {4: 50.0}}),
    ],
    indirect=True,
)
def test_cases_that_differ_in_more_than_the_strategy_are_not_compared(ask):
    assert ask("FROM strategy_comparison") == []


def _compiled(folder):
    for path in folder.glob("fsdp.*/run.json"):
        run = json.loads(path.read_text())
        run["spec"]["train"]["compile"] = True
        write_json(path, run)


@measured(*_pair(), changed=_compiled)
def test_training_settings_must_be_the_same(ask):
    assert ask("FROM strategy_comparison") == []


SIZES = {"step_ms": {1: NARROW, 2: NARROW, 4: NARROW}}


@compared(ddp=SIZES, fsdp=SIZES)
def test_every_size_that_both_ran_has_its_row(ask):
    rows = ask("FROM strategy_comparison ORDER BY workers")
    assert [row["placement"] for row in rows] == ["1x1", "1x2", "1x4"]


PLAIN, SHARDED = _pair()


@measured(
    PLAIN,
    Case(name="an_option", step_ms={2: DDP}, strategy_options={"static_graph": True}, device_type="cuda"),
    SHARDED,
)
def test_of_several_ddp_cases_the_suites_first_is_the_reference(ask):
    rows = ask("FROM strategy_comparison")
    assert [(row["reference_case"], row["case_name"]) for row in rows] == [("ddp", "fsdp")]
