"""The table macro compare: one session's throughput over another's, against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bench.cli import main
from tests.factory import Case, make_session

OLD = [10.0, 10.4, 10.1, 10.9]
NEW = [9.0, 9.3, 8.9, 9.1]
COLUMNS = "case_name workers nodes ranks_per_node threads ratio ratio_lo ratio_hi verdict"


@pytest.fixture
def compare(results, read_back):
    """`compare(baseline case, candidate case)` gives the macro's rows."""

    def run(baseline: Case, candidate: Case, margin: float = 0.02):
        make_session(results, [baseline], session_id="a")
        make_session(results, [candidate], session_id="b")
        return read_back()(f"FROM compare('a', 'b', {margin}) ORDER BY case_name, workers")

    return run


def case(step_ms, **more):
    return Case(name="ddp", step_ms={2: step_ms}, repeats=4, **more)


def logs(step_ms):
    return np.log(64 / (np.array(step_ms) / 1e3))


def test_the_ratio_is_of_geometric_means_with_welchs_interval(compare):
    (row,) = compare(case(OLD), case(NEW))
    test = stats.ttest_ind(logs(NEW), logs(OLD), equal_var=False).confidence_interval(0.95)
    assert row["ratio"] == pytest.approx(stats.gmean(OLD) / stats.gmean(NEW), rel=1e-9)
    assert row["ratio_lo"] == pytest.approx(np.exp(test.low), rel=1e-4)
    assert row["ratio_hi"] == pytest.approx(np.exp(test.high), rel=1e-4)
    assert (row["baseline_repeats"], row["candidate_repeats"]) == (4, 4)
    assert row["candidate_throughput"] / row["baseline_throughput"] == pytest.approx(row["ratio"])
    assert row["verdict"] == "faster"


def test_a_row_names_its_placement_its_ratio_with_interval_and_its_verdict(compare):
    assert set(COLUMNS.split()) <= set(compare(case(OLD), case(NEW))[0])


def test_the_other_way_round_the_ratio_is_turned_over(results, read_back):
    make_session(results, [case(OLD)], session_id="a")
    make_session(results, [case(NEW)], session_id="b")
    ask = read_back()
    (there,), (back,) = ask("FROM compare('a', 'b')"), ask("FROM compare('b', 'a')")
    assert back["verdict"] == "slower"
    assert back["ratio"] == pytest.approx(1 / there["ratio"])
    assert back["ratio_lo"] == pytest.approx(1 / there["ratio_hi"])


@pytest.mark.parametrize(
    ("new", "margin", "verdict"),
    [
        ([10.00, 10.01, 9.99, 10.00], 0.02, "same"),
        ([10.00, 10.01, 9.99, 10.00], 0.0002, "inconclusive"),
        ([9.0, 11.0, 10.2, 9.9], 0.02, "inconclusive"),
        ([9.99, 9.99, 9.99, 9.99], 0.02, "faster"),  # surely faster, however little
        ([10.3, 10.3, 10.3, 10.31], 0.5, "slower"),
        ([10.0, 10.0, 10.0, 10.0], 0.0, "same"),
    ],
)
def test_a_verdict_rests_on_the_interval_and_same_needs_the_margin(compare, new, margin, verdict):
    (row,) = compare(case([10.0] * 4), case(new), margin)
    assert row["verdict"] == verdict


@pytest.mark.parametrize("side", ["baseline", "candidate"])
def test_fewer_than_two_ok_repeats_on_either_side_leave_the_interval_unknown(compare, side):
    failed = {(2, repeat): "failed" for repeat in range(1, 4)}
    lone, whole = case(OLD, statuses=failed), case(OLD)
    (row,) = compare(lone, whole) if side == "baseline" else compare(whole, lone)
    assert row["ratio"] is not None
    assert (row["ratio_lo"], row["ratio_hi"], row["verdict"]) == (None, None, "inconclusive")


def test_without_an_ok_repeat_there_is_no_ratio_and_no_verdict(compare):
    (row,) = compare(case(OLD), case(NEW, statuses={(2, repeat): "oom" for repeat in range(4)}))
    assert (row["ratio"], row["ratio_lo"], row["verdict"]) == (None, None, None)


def test_oversubscribed_rows_are_measured_and_never_judged(compare):
    (row,) = compare(case(OLD), case(NEW, oversubscribed=frozenset({2})))
    assert row["ratio"] == pytest.approx(stats.gmean(OLD) / stats.gmean(NEW), rel=1e-9)
    assert (row["oversubscribed"], row["verdict"]) == (True, None)


def test_only_placements_that_both_sessions_ran_are_paired(compare):
    old = Case(name="ddp", step_ms={2: 10.0, 4: 6.0, 16: 2.0})
    new = Case(name="ddp", step_ms={2: 5.0, 4: 6.0, 8: 3.0, 16: 2.0}, ranks_per_node=4)
    rows = compare(old, new)
    assert [(row["nodes"], row["ranks_per_node"], row["ratio"]) for row in rows] == [
        (1, 2, pytest.approx(2.0)),
        (1, 4, 1.0),
    ]


def test_threads_tell_placements_apart_where_they_are_the_axis(compare):
    rows = compare(
        Case(name="t", axis="threads", step_ms={1: 8.0, 2: 5.0}),
        Case(name="t", axis="threads", step_ms={1: 8.0, 2: 4.0, 4: 3.0}),
    )
    assert [(row["threads"], row["ratio"]) for row in rows] == [(1, 1.0), (2, pytest.approx(1.25))]


def test_a_case_that_trains_another_workload_is_another_case(compare):
    assert compare(case(OLD), case(NEW, workload="mnist_cnn")) == []


@pytest.mark.parametrize("other", [{"scaling": "weak"}, {"strategy": "fsdp"}])
def test_a_case_of_another_scaling_or_strategy_is_another_case(compare, other):
    assert compare(case(OLD), case(NEW, **other)) == []


def test_a_case_with_another_global_batch_is_the_same_case(compare):
    (row,) = compare(case(OLD), case(NEW, batch=128))
    assert row["ratio"] == pytest.approx(2 * stats.gmean(OLD) / stats.gmean(NEW), rel=1e-9)


def test_bench_sql_reads_the_macro_like_a_view(results, monkeypatch, capsys):
    from analysis.loading.load import load

    make_session(results, [case(OLD)], session_id="a")
    make_session(results, [case(NEW)], session_id="it's")
    load(results)
    query = "SELECT case_name, workers, verdict FROM compare('a', 'it''s', 0.02)"
    monkeypatch.setattr("sys.argv", ["bench", "sql", query, "--results", str(results), "--format", "csv"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert capsys.readouterr().out.splitlines() == ['"case_name","workers","verdict"', '"ddp",2,"faster"']
