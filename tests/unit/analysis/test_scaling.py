"""Speedup, efficiency, serial fractions and verdicts, on numbers that can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.database import schema
from analysis.wording import verdicts
from benchmarks.coverage_plateau import retrograde
from tests.factory import Case, make_session
from tests.unit.analysis.conftest import measured, session_of

BY_SIZE = "FROM scaling ORDER BY case_name, workers, nodes"


@measured(Case(name="ddp", step_ms={1: 362.45, 4: 95.23, 8: 57.14}))
def test_the_published_table_of_one_four_and_eight_gpus_comes_out(ask):
    rows = ask(BY_SIZE)
    assert [row["workers"] for row in rows] == [1, 4, 8]
    assert [round(row["speedup"], 2) for row in rows] == [1.0, 3.81, 6.34]
    assert [round(row["efficiency"], 3) for row in rows] == [1.0, 0.952, 0.793]
    assert [row["verdict"] for row in rows] == [None, "excellent", "good"]
    assert rows[0]["throughput"] == pytest.approx(64 / 0.36245)
    assert [row["repeats"] for row in rows] == [3, 3, 3]


@measured(Case(name="ddp", step_ms={2: [10.0, 11.0, 12.0], 4: [6.0, 6.5, 7.0]}))
def test_the_baselines_own_row_is_exact_although_its_repeats_vary(ask):
    rows = ask(BY_SIZE)
    baseline = rows[0]
    assert baseline["is_baseline"]
    assert (baseline["speedup_lo"], baseline["speedup"], baseline["speedup_hi"]) == (2.0, 2.0, 2.0)
    assert (baseline["efficiency_lo"], baseline["efficiency"], baseline["efficiency_hi"]) == (1.0, 1.0, 1.0)
    assert baseline["throughput_lo"] < baseline["throughput"] < baseline["throughput_hi"]


# Amdahl with a serial fraction of 0.2 of the two-rank time: T(n) = T(2) (0.2 + 0.8 * 2 / n).
@measured(Case(name="ddp", step_ms={2: 10.0, 4: 6.0, 8: 4.0}))
def test_karp_flatt_is_relative_to_a_baseline_of_two_ranks(ask):
    rows = ask(BY_SIZE)
    assert [row["karp_flatt"] for row in rows] == [None, pytest.approx(0.2), pytest.approx(0.2)]
    assert [row["baseline_workers"] for row in rows] == [2, 2, 2]
    assert rows[2]["speedup"] == pytest.approx(2 * 10 / 4)


@measured(Case(name="ddp", scaling="weak", batch=32, step_ms={1: 10.0, 4: 12.5}))
def test_weak_scaling_tells_scaled_speedup_and_gustafsons_serial_fraction(ask):
    rows = ask("FROM weak_scaling ORDER BY workers")
    assert rows[1]["throughput"] == pytest.approx(4 * 32 / 0.0125)
    assert rows[1]["speedup"] == pytest.approx(3.2)
    assert rows[1]["efficiency"] == pytest.approx(0.8)
    assert rows[1]["gustafson"] == pytest.approx((4 - 3.2) / 3)
    assert rows[1]["karp_flatt"] is None


@measured(
    Case(name="s", step_ms={1: 2.0, 2: 1.0}),
    Case(name="w", scaling="weak", step_ms={1: 2.0}),
    Case(name="n", scaling="none", step_ms={1: 2.0}),
)
def test_strong_and_weak_views_hold_their_own_mode_only(ask):
    assert {row["case_name"] for row in ask("FROM strong_scaling")} == {"s"}
    assert {row["case_name"] for row in ask("FROM weak_scaling")} == {"w"}
    assert {row["case_name"] for row in ask("FROM scaling")} == {"s", "w", "n"}


@measured(
    Case(name="cores", scaling="none", axis="threads", step_ms={1: 40.0}),
    Case(name="gpu", device_type="cuda", baseline="cores", step_ms={1: 1.0, 2: 0.6, 4: 0.8}),
)
def test_a_size_is_slower_than_the_one_before_it_over_any_baseline(ask):
    rows = ask("FROM scaling WHERE case_name = 'gpu' ORDER BY workers")
    assert [row["is_slower"] for row in rows] == [False, False, True]
    assert [row["verdict"] for row in rows] == [None, None, None]


@measured(Case(name="ddp", step_ms={1: 10.0, 2: 5.5, 4: 6.0}))
def test_more_ranks_that_train_less_are_retrograde_whatever_their_efficiency(ask):
    rows = ask(BY_SIZE)
    assert [row["verdict"] for row in rows] == [None, "excellent", "retrograde"]


def _two_sizes(two, four):
    """A session of one worker's 10 ms and of these repeats at 2 and 4."""
    sizes = {2: two, 4: four}
    statuses = {(n, repeat): "failed" for n, steps in sizes.items() for repeat in range(len(steps), 3)}
    steps = {n: [*ms, *(3 - len(ms)) * [9.0]] for n, ms in sizes.items()}
    return session_of(Case(name="ddp", step_ms={1: 10.0, **steps}, statuses=statuses))


@pytest.mark.parametrize(
    ("ask", "repeats", "verdict"),
    [
        (_two_sizes([6.0, 6.2, 6.1], [6.2, 6.1, 6.3]), 3, "poor"),
        (_two_sizes([6.0, 6.1, 6.2], [6.5, 6.6, 6.7]), 3, "retrograde"),
        (_two_sizes([6.0], [6.1]), 1, "one repeat"),
        (_two_sizes([6.0, 6.1, 6.2], [6.2]), 1, "one repeat"),
    ],
    indirect=["ask"],
)
def test_retrograde_is_what_the_interval_over_the_next_smaller_size_supports(ask, repeats, verdict):
    rows = ask(BY_SIZE)
    assert (rows[2]["repeats"], rows[2]["verdict"]) == (repeats, verdict)


# Slower by 5 %, with a one-sided p-value of 0.016. Over four cases, Holm makes it 0.06.
SLOWER = {1: [10.0, 10.1, 10.2], 2: [10.5, 10.4, 10.8]}


@pytest.mark.parametrize(
    ("ask", "verdict"),
    [
        (session_of(Case(name="c", step_ms=SLOWER)), "retrograde"),
        (session_of(*(Case(name=f"c{number}", step_ms=SLOWER) for number in range(4))), "poor"),
    ],
    indirect=["ask"],
)
def test_none_of_many_sizes_is_retrograde_by_what_one_of_them_may_be_by_chance(ask, verdict):
    assert {row["verdict"] for row in ask("FROM scaling WHERE workers = 2")} == {verdict}


def test_a_plateau_is_rarely_retrograde_and_a_slower_size_is_found(in_memory):
    rng = np.random.default_rng(7)
    noise = 0.02 * rng.standard_normal((200, 2, 6, 5))
    assert retrograde(in_memory, noise).any(axis=(1, 2)).mean() <= 0.05
    assert not retrograde(in_memory, noise[..., :1]).any()
    noise[:, 0, -1] += 0.1
    assert retrograde(in_memory, noise)[:, 0, -1].mean() >= 0.9


VERDICTS = {
    8.9: "superlinear",
    9.0: "excellent",  # an efficiency of exactly 1.05
    10.5: "excellent",  # 0.90
    10.6: "good",
    12.6: "good",  # 0.75
    12.7: "acceptable",
    18.9: "acceptable",  # 0.50
    19.0: "retrograde",  # below 0.50, and slower than one rank
}


@measured(*(Case(name=f"t{ms}", step_ms={1: 18.9, 2: ms}) for ms in VERDICTS))
def test_verdicts_change_at_their_thresholds(ask):
    rows = ask("FROM scaling WHERE workers = 2")
    assert {float(row["case_name"][1:]): row["verdict"] for row in rows} == VERDICTS


def test_no_number_has_no_verdict(in_memory):
    assert in_memory.execute("SELECT verdict_of('nan'::DOUBLE), verdict_of(NULL)").fetchone() == (None, None)


def test_the_limits_that_charts_and_sentences_name_are_those_of_the_verdicts(in_memory):
    assert verdicts.names() == ("poor", "acceptable", "good", "excellent", "superlinear")
    for (name, limit), worse in zip(verdicts.limits().items(), verdicts.names()[-2::-1], strict=True):
        step = 1e-6 if name == "superlinear" else 0
        judged = in_memory.execute(
            "SELECT verdict_of($1), verdict_of($2)", [limit + step, limit + step - 1e-6]
        )
        assert judged.fetchone() == (name, worse)


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [
        ("good", "good", "good"),
        ("acceptable", "good", "acceptable or good"),
        ("good", "excellent", "good or excellent"),
        ("acceptable", "excellent", "undecided"),
        ("poor", "superlinear", "undecided"),
        (None, None, "good"),
    ],
)
def test_both_verdicts_are_told_where_the_interval_reaches_two_and_none_where_it_spans_more(
    in_memory, low, high, told
):
    query = "SELECT verdict_within(0.8, ?, ?)"
    assert in_memory.execute(query, [low, high]).fetchone() == (told,)
    assert in_memory.execute("SELECT is_open(?, ?) IS TRUE", [low, high]).fetchone() == (told == "undecided",)


@pytest.mark.parametrize(
    ("told", "tone"),
    [
        ("good", "good"),
        ("good or excellent", "good"),
        ("acceptable or good", ""),
        ("poor or acceptable", ""),
        ("poor", "bad"),
        ("undecided", ""),
    ],
)
def test_a_verdict_between_two_colours_has_none(told, tone):
    assert verdicts.tone(told) == tone


# an upper end of exactly 1.05, which rounding must not make superlinear
@measured(Case(name="ddp", step_ms={1: 18.9, 2: [9.0, 9.0, 9.0], 4: [4.9, 5.6, 6.4]}))
def test_the_ends_of_the_interval_have_the_verdicts_of_their_efficiencies(ask):
    rows = ask(BY_SIZE)
    assert [(row["verdict_lo"], row["verdict_hi"]) for row in rows[:2]] == [(None, None), 2 * ("excellent",)]
    assert rows[2]["efficiency_lo"] < 0.75 < rows[2]["efficiency"] < 1.05 < rows[2]["efficiency_hi"]
    assert (rows[2]["verdict_lo"], rows[2]["verdict_hi"]) == ("acceptable", "superlinear")


@measured(Case(name="ddp", step_ms={1: 10.0, 4: 6.0}))
def test_a_poor_efficiency_that_still_gains_is_poor(ask):
    rows = ask(BY_SIZE)
    assert (rows[1]["efficiency"], rows[1]["verdict"]) == (pytest.approx(10 / 6 / 4), "poor")


@measured(Case(name="ddp", step_ms={1: 10.0, 2: 5.0, 4: 6.0}, oversubscribed=frozenset([4])))
def test_oversubscribed_rows_are_measured_and_never_judged(ask):
    rows = ask(BY_SIZE)
    assert rows[2]["oversubscribed"]
    assert rows[2]["speedup"] == pytest.approx(10 / 6)
    assert [row["verdict"] for row in rows] == [None, "excellent", None]


@measured(
    Case(name="single", scaling="none", step_ms={1: 8.0}),
    Case(name="ddp", baseline="single", step_ms={1: 10.0, 2: 5.0}),
)
def test_a_named_baseline_is_another_cases_smallest_ok_run(ask):
    rows = ask("FROM scaling WHERE case_name = 'ddp' ORDER BY workers")
    assert {row["baseline_case"] for row in rows} == {"single"}
    assert [row["is_baseline"] for row in rows] == [False, False]
    assert [row["speedup"] for row in rows] == [pytest.approx(0.8), pytest.approx(1.6)]
    assert [row["verdict"] for row in rows] == ["good", "good"]


@measured(
    Case(name="single", scaling="none", step_ms={1: 8.0}, repeats=1, statuses={(1, 0): "oom"}),
    Case(name="ddp", baseline="single", step_ms={2: 5.0}),
)
def test_a_named_baseline_without_an_ok_run_leaves_speedup_unknown(ask):
    (row,) = ask("FROM scaling WHERE case_name = 'ddp'")
    assert (row["speedup"], row["efficiency"], row["verdict"]) == (None, None, None)
    assert row["throughput"] == pytest.approx(64 / 0.005)


@measured(
    Case(name="ddp", step_ms={1: 10.0, 2: 6.0, 4: 3.0}, statuses={(1, repeat): "oom" for repeat in range(3)})
)
def test_the_baseline_is_the_smallest_size_that_is_ok(ask):
    rows = ask(BY_SIZE)
    assert [(row["workers"], row["runs"], row["repeats"]) for row in rows] == [
        (1, 3, 0),
        (2, 3, 3),
        (4, 3, 3),
    ]
    assert (rows[0]["throughput"], rows[0]["verdict"]) == (None, None)
    assert [row["is_baseline"] for row in rows] == [False, True, False]
    assert rows[2]["speedup"] == pytest.approx(4.0)


@measured(
    Case(name="ddp", step_ms={2: 10.0, 4: 5.0}, ranks_per_node=2),
)
def test_ranks_within_a_node_and_across_nodes_are_told_apart(ask):
    rows = ask(BY_SIZE)
    assert [(row["nodes"], row["ranks_per_node"], row["locality"]) for row in rows] == [
        (1, 2, "within_node"),
        (2, 2, "across_nodes"),
    ]


@measured(Case(name="t", axis="threads", strategy="single", step_ms={1: 8.0, 2: 5.0}))
def test_the_axis_may_be_threads(ask):
    rows = ask("FROM scaling ORDER BY threads")
    assert [(row["axis"], row["workers"], row["world_size"], row["threads"]) for row in rows] == [
        ("threads", 1, 1, 1),
        ("threads", 2, 1, 2),
    ]
    assert rows[1]["efficiency"] == pytest.approx(0.8)


@measured(Case(name="ddp", step_ms={1: [1.0, 4.0, 100.0]}, statuses={(1, 2): "failed"}))
def test_throughput_of_a_case_is_the_geometric_mean_over_ok_repeats(ask):
    (row,) = ask(BY_SIZE)
    assert (row["runs"], row["repeats"]) == (3, 2)
    assert row["throughput"] == pytest.approx(64 / 0.002)


def test_sessions_do_not_share_baselines(measure, results):
    make_session(results, [Case(name="ddp", step_ms={1: 10.0, 2: 5.0})], session_id="a")
    ask = measure(Case(name="ddp", step_ms={2: 5.0, 4: 5.0}), session_id="b")
    rows = ask("FROM scaling ORDER BY session_id, workers")
    assert [(row["session_id"], row["speedup"]) for row in rows] == [
        ("a", 1.0),
        ("a", pytest.approx(2.0)),
        ("b", 2.0),
        ("b", pytest.approx(2.0)),
    ]


def test_the_validation_of_a_point_is_the_mean_over_its_ok_repeats_not_the_luckiest_one(in_memory):
    in_memory.begin()
    in_memory.execute(
        "INSERT INTO run_summary BY NAME SELECT 's' AS session_id, 'smoke' AS suite, 'ddp' AS case_name, 1 AS nodes, "
        "2 AS ranks_per_node, 1 AS threads, * FROM (VALUES ('ok', 0.9, 0.2), ('ok', 0.7, 0.4), ('failed', 1.0, 0.0)) "
        "AS runs(status, best_val_accuracy, best_val_loss)"
    )
    columns = "best_val_accuracy_mean, best_val_loss_mean"
    found = in_memory.sql(schema.text("placements")).select(columns).fetchall()
    in_memory.rollback()
    assert found == [(pytest.approx(0.8), pytest.approx(0.3))]
