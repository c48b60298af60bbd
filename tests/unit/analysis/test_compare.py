"""The table macro compare: one session's throughput over another's, against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tests.factory import Case, make_session

OLD = [10.0, 10.4, 10.1, 10.9]
NEW = [9.0, 9.3, 8.9, 9.1]
COLUMNS = "case_name workers nodes ranks_per_node threads ratio ratio_lo ratio_hi verdict"


def case(step_ms, **more):
    return Case(name="ddp", step_ms={2: step_ms}, repeats=4, **more)


SESSIONS = {
    "old": case(OLD),
    "new": case(NEW),
    "level": case([10.0] * 4),
    "close": case([10.00, 10.01, 9.99, 10.00]),
    "noisy": case([9.0, 11.0, 10.2, 9.9]),
    "surely_faster": case([9.99] * 4),
    "surely_slower": case([10.3, 10.3, 10.3, 10.31]),
    "level_again": case([10.0] * 4),
    "lone": case(OLD, statuses={(2, repeat): "failed" for repeat in range(1, 4)}),
    "oom": case(NEW, statuses={(2, repeat): "oom" for repeat in range(4)}),
    "oversubscribed": case(NEW, oversubscribed=frozenset({2})),
    "nodes_of_8": Case(name="ddp", step_ms={2: 10.0, 4: 6.0, 16: 2.0}),
    "nodes_of_4": Case(name="ddp", step_ms={2: 5.0, 4: 6.0, 8: 3.0, 16: 2.0}, ranks_per_node=4),
    "threads_old": Case(name="t", axis="threads", step_ms={1: 8.0, 2: 5.0}),
    "threads_new": Case(name="t", axis="threads", step_ms={1: 8.0, 2: 4.0, 4: 3.0}),
    "workload": case(NEW, workload="mnist_cnn"),
    "scaling": case(NEW, scaling="weak"),
    "strategy": case(NEW, strategy="fsdp"),
    "batch": case(NEW, batch=128),
}
"""Session -> its only case."""


@pytest.fixture(scope="module")
def compare(tmp_path_factory, read_once):
    """`compare(baseline, candidate)` gives the macro's rows for two of SESSIONS."""
    results = tmp_path_factory.mktemp("compare")
    for name, only in SESSIONS.items():
        make_session(results, [only], session_id=name)
    ask = read_once(results)

    def run(baseline: str, candidate: str, margin: float = 0.02):
        return ask(f"FROM compare('{baseline}', '{candidate}', {margin}) ORDER BY case_name, workers")

    return run


def logs(step_ms):
    return np.log(64 / (np.array(step_ms) / 1e3))


def test_the_ratio_is_of_geometric_means_with_welchs_interval(compare):
    (row,) = compare("old", "new")
    test = stats.ttest_ind(logs(NEW), logs(OLD), equal_var=False).confidence_interval(0.95)
    assert row["ratio"] == pytest.approx(stats.gmean(OLD) / stats.gmean(NEW), rel=1e-9)
    assert row["ratio_lo"] == pytest.approx(np.exp(test.low), rel=1e-4)
    assert row["ratio_hi"] == pytest.approx(np.exp(test.high), rel=1e-4)
    assert (row["baseline_repeats"], row["candidate_repeats"]) == (4, 4)
    assert row["candidate_throughput"] / row["baseline_throughput"] == pytest.approx(row["ratio"])
    assert row["verdict"] == "faster"


def test_a_row_names_its_placement_its_ratio_with_interval_and_its_verdict(compare):
    assert set(COLUMNS.split()) <= set(compare("old", "new")[0])


def test_the_other_way_round_the_ratio_is_turned_over(compare):
    (there,), (back,) = compare("old", "new"), compare("new", "old")
    assert back["verdict"] == "slower"
    assert back["ratio"] == pytest.approx(1 / there["ratio"])
    assert back["ratio_lo"] == pytest.approx(1 / there["ratio_hi"])


@pytest.mark.parametrize(
    ("new", "margin", "verdict"),
    [
        ("close", 0.02, "same"),
        ("close", 0.0002, "inconclusive"),
        ("noisy", 0.02, "inconclusive"),
        ("surely_faster", 0.02, "faster"),  # however little
        ("surely_slower", 0.5, "slower"),
        ("level_again", 0.0, "same"),
    ],
)
def test_a_verdict_rests_on_the_interval_and_same_needs_the_margin(compare, new, margin, verdict):
    (row,) = compare("level", new, margin)
    assert row["verdict"] == verdict


@pytest.mark.parametrize(("baseline", "candidate"), [("lone", "old"), ("old", "lone")])
def test_fewer_than_two_ok_repeats_on_either_side_leave_the_interval_unknown(compare, baseline, candidate):
    (row,) = compare(baseline, candidate)
    assert row["ratio"] is not None
    assert (row["ratio_lo"], row["ratio_hi"], row["verdict"]) == (None, None, "inconclusive")


def test_without_an_ok_repeat_there_is_no_ratio_and_no_verdict(compare):
    (row,) = compare("old", "oom")
    assert (row["ratio"], row["ratio_lo"], row["verdict"]) == (None, None, None)


def test_oversubscribed_rows_are_measured_and_never_judged(compare):
    (row,) = compare("old", "oversubscribed")
    assert row["ratio"] == pytest.approx(stats.gmean(OLD) / stats.gmean(NEW), rel=1e-9)
    assert (row["oversubscribed"], row["verdict"]) == (True, None)


def test_only_placements_that_both_sessions_ran_are_paired(compare):
    assert [
        (row["nodes"], row["ranks_per_node"], row["ratio"]) for row in compare("nodes_of_8", "nodes_of_4")
    ] == [(1, 2, pytest.approx(2.0)), (1, 4, 1.0)]


def test_threads_tell_placements_apart_where_they_are_the_axis(compare):
    rows = compare("threads_old", "threads_new")
    assert [(row["threads"], row["ratio"]) for row in rows] == [(1, 1.0), (2, pytest.approx(1.25))]


@pytest.mark.parametrize("other", ["workload", "scaling", "strategy"])
def test_a_case_of_another_workload_scaling_or_strategy_is_another_case(compare, other):
    assert compare("old", other) == []


def test_a_case_with_another_global_batch_is_the_same_case(compare):
    (row,) = compare("old", "batch")
    assert row["ratio"] == pytest.approx(2 * stats.gmean(OLD) / stats.gmean(NEW), rel=1e-9)
