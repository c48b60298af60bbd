"""The views history and regressions: sessions of a suite over time, with what changed between them."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.factory import BEGAN, Case, make_session, write_json

REPEATS = [10.0, 10.1, 10.05]
Torch = Mapping[str, Mapping[str, str]]


def torch(version: str) -> Torch:
    return {"0": {"torch": version}}


def ddp(factor: float = 1.0, **more: Any) -> Case:
    return Case(name="ddp", step_ms={1: [18.0 * factor] * 3, 2: [factor * ms for ms in REPEATS]}, **more)


@pytest.fixture
def over_time(results: Path, read_back: Any) -> Any:
    """`over_time(session, ...)` writes sessions a day apart, each of cases or of (cases, arguments of make_session),
    and returns a function that queries them."""

    def run(*sessions: Sequence[Case] | tuple[Sequence[Case], Mapping[str, Any]]) -> Any:
        for day, session in enumerate(sessions):
            cases, more = session if isinstance(session, tuple) else (session, {})
            named = {
                "session_id": f"s{day:02d}",
                "suite": "nightly",
                "created_at": BEGAN + timedelta(days=day),
            }
            make_session(results, cases, **{**named, **more})
        return read_back()

    return run


def of_two_ranks(ask: Any, columns: str = "*") -> list[dict[str, Any]]:
    return ask(f"SELECT {columns} FROM history WHERE workers = 2 ORDER BY session_order")


def test_a_planted_regression_of_a_tenth_is_found_in_its_session_alone_and_named_with_what_changed(over_time):
    sessions = [([ddp()], {"environment": torch("2.14.0")}) for _ in range(3)]
    slower = ([ddp(1 / 0.9)], {"environment": torch("2.15.0")})
    ask = over_time(*sessions, slower, slower)
    rows = of_two_ranks(ask)
    assert [row["verdict"] for row in rows] == [None, "same", "same", "slower", "same"]
    assert rows[3]["ratio"] == pytest.approx(0.9)
    assert rows[3]["ratio_lo"] < 0.9 < rows[3]["ratio_hi"] < 0.98
    assert rows[3]["changed"] == ["torch"]
    assert rows[3]["changes"] == "torch: 2.14.0 → 2.15.0"
    assert (rows[4]["changed"], rows[4]["changes"]) == ([], "")
    found = ask("SELECT session_id, workers, previous_session_id FROM regressions")
    assert {tuple(row.values()) for row in found} == {("s03", 1, "s02"), ("s03", 2, "s02")}


def test_a_clock_that_went_back_between_sessions_orders_them_by_it_and_loses_none(over_time):
    back = [([ddp()], {"created_at": BEGAN - timedelta(days=day)}) for day in range(3)]
    rows = of_two_ranks(over_time(*back))
    assert [(row["session_id"], row["previous_session_id"]) for row in rows] == [
        ("s02", None),
        ("s01", "s02"),
        ("s00", "s01"),
    ]
    assert [row["repeats"] for row in rows] == [3, 3, 3]


def test_the_ratio_its_interval_and_its_verdict_are_those_of_compare(over_time):
    ask = over_time([ddp()], [Case(name="ddp", step_ms={2: [10.4, 10.9, 10.2]})])
    (row,) = ask("FROM history WHERE ratio IS NOT NULL")
    (compared,) = ask("FROM compare('s00', 's01', margin := 0.02, max_regression := 0.02)")
    for name in ("ratio", "ratio_lo", "ratio_hi", "regression_p", "holm_p"):
        assert row[name] == pytest.approx(compared[name], rel=1e-9), name
    assert (row["verdict"], row["regression"]) == (compared["verdict"], compared["regression"])


def test_another_batch_is_another_experiment_and_gets_no_verdict(over_time):
    ask = over_time([ddp()], [ddp(batch=32)])
    first, second = of_two_ranks(ask)
    assert (first["is_alike"], first["unlike"], first["previous_session_id"]) == (None, None, None)
    assert second["ratio"] == pytest.approx(0.5)
    assert (second["is_alike"], second["unlike"], second["verdict"]) == (False, ["settings"], None)
    assert second["other_settings"] == "global_batch: 64 → 32"
    assert (second["regression_p"], second["regression"]) == (None, False)
    assert [first["experiment"], second["experiment"]] == [1, 2]


def test_after_a_detour_a_session_is_compared_with_the_last_of_its_own_experiment(over_time):
    ask = over_time([ddp()], [ddp(batch=32)], [ddp(1.25)])
    row = of_two_ranks(ask)[2]
    assert (row["previous_session_id"], row["experiment"], row["is_alike"]) == ("s00", 1, True)
    assert row["ratio"] == pytest.approx(0.8)
    assert (row["verdict"], row["regression"]) == ("slower", True)


def test_settings_that_differ_are_named_by_their_keys(over_time):
    row = of_two_ranks(over_time([ddp()], [ddp(accumulate=2, precision="bf16", steps=8)]))[1]
    assert (
        row["other_settings"]
        == "measure.steps: 10 → 8, train.accumulate: 1 → 2, train.precision: fp32 → bf16"
    )


def test_how_often_a_run_is_repeated_is_no_other_experiment(over_time):
    two = Case(name="ddp", step_ms={2: REPEATS[:2]}, repeats=2)
    assert of_two_ranks(over_time([ddp()], [two]))[1]["is_alike"]


def test_what_is_only_worth_knowing_is_told_apart(over_time):
    ask = over_time(
        ([ddp()], {"environment": {"0": {"hostname": "node-a"}}}),
        ([ddp()], {"environment": {"0": {"hostname": "node-b"}}}),
    )
    row = of_two_ranks(ask)[1]
    assert (row["changed"], row["also_changed"]) == ([], ["nodes"])
    assert row["also_changes"] == "nodes: node-a → node-b"
    assert row["verdict"] == "same"


def test_one_session_has_a_history_of_one_row_per_placement_without_a_ratio(over_time):
    rows = of_two_ranks(
        over_time([ddp()]), "ratio, verdict, previous_session_id, throughput, repeats, regression"
    )
    assert len(rows) == 1
    assert (rows[0]["ratio"], rows[0]["verdict"], rows[0]["previous_session_id"]) == (None, None, None)
    assert (rows[0]["repeats"], rows[0]["regression"]) == (3, False)
    assert rows[0]["throughput"] == pytest.approx(64 / 0.01005, rel=1e-3)


def test_single_repeats_have_a_ratio_without_interval_and_are_no_regression(over_time):
    lone = [Case(name="ddp", step_ms={2: 10.0}, repeats=1)], [Case(name="ddp", step_ms={2: 20.0}, repeats=1)]
    row = of_two_ranks(over_time(*lone))[1]
    assert (row["ratio"], row["ratio_lo"], row["ratio_hi"]) == (0.5, None, None)
    assert (row["verdict"], row["regression"]) == ("inconclusive", False)


def test_a_session_without_an_ok_repeat_is_a_row_that_the_next_one_looks_past(over_time):
    failed = {(n, repeat): "failed" for n in (1, 2) for repeat in range(3)}
    rows = of_two_ranks(over_time([ddp()], [ddp(statuses=failed)], [ddp()]))
    assert [row["throughput"] is None for row in rows] == [False, True, False]
    assert (rows[1]["runs"], rows[1]["repeats"], rows[1]["ratio"]) == (3, 0, None)
    assert (rows[1]["previous_session_id"], rows[1]["experiment"]) == (None, None)
    assert rows[2]["previous_session_id"] == "s00"


def test_a_regression_must_be_beyond_the_margin(over_time):
    ask = over_time([Case(name="ddp", step_ms={2: [10.0] * 3})], [Case(name="ddp", step_ms={2: [10.15] * 3})])
    (row,) = ask("FROM history WHERE ratio IS NOT NULL")
    assert (row["verdict"], row["regression"]) == ("slower", False)


def test_a_tenth_more_on_one_of_many_placements_stands_after_holm(over_time):
    sizes = (1, 2, 4, 8, 16, 32)
    before = Case(name="ddp", step_ms={n: [10.0, 10.02, 10.01] for n in sizes})
    after = Case(
        name="ddp", step_ms={n: [11.11, 11.13, 11.12] if n == 8 else [10.0, 10.02, 10.01] for n in sizes}
    )
    ask = over_time([before], [after])
    assert [row["workers"] for row in ask("FROM regressions")] == [8]
    rows = ask("SELECT workers, regression_p, holm_p FROM history WHERE ratio IS NOT NULL")
    worst = min(rows, key=lambda row: row["regression_p"])
    assert worst["workers"] == 8
    assert worst["holm_p"] == pytest.approx(6 * worst["regression_p"])


def test_sessions_that_differ_by_noise_hold_no_regression_though_repeats_agree(over_time):
    draw = random.Random(5)
    days = [1.0, 1.01, 0.99, 1.0] + [draw.gauss(1.0, 0.02) for _ in range(36)]
    cases = [Case(name="ddp", step_ms={2: [day * ms for ms in REPEATS]}) for day in days]
    ask = over_time(*([case] for case in cases))
    rows = ask(
        "SELECT verdict, ratio, usual_lo, usual_hi, unchanged_pairs FROM history WHERE verdict IS NOT NULL"
    )
    assert len(rows) == 39
    assert sum(row["verdict"] == "slower" for row in rows) > 10  # by their repeats alone
    assert ask("SELECT session_id, ratio, usual_lo FROM regressions") == []
    known = [row for row in rows if row["usual_lo"] is not None]
    assert {row["unchanged_pairs"] for row in known} == set(range(3, 39))
    assert all(row["usual_lo"] * row["usual_hi"] == pytest.approx(1) for row in known)


def test_a_regression_larger_than_the_usual_noise_between_sessions_is_found(over_time):
    days = [1.0, 1.02, 0.99, 1.01, 0.99, 1.0, 1.25]
    ask = over_time(*([ddp(day)] for day in days))
    assert {row["session_id"] for row in ask("FROM regressions")} == {"s06"}
    (row,) = ask("FROM history WHERE session_id = 's06' AND workers = 2")
    assert row["unchanged_pairs"] == 5
    assert row["ratio"] < 0.98 * row["usual_lo"] < 0.95


def test_what_is_usual_comes_from_earlier_pairs_of_which_nothing_changed(over_time):
    days = [1.0, 1.02, 1.0, 1.02, 1.0]
    row = of_two_ranks(over_time(*([ddp(day)] for day in days)))[4]
    # four ratios so far, three of them before this one, each of 2 %: t at 2 * 9 / 8 degrees of freedom
    assert row["unchanged_pairs"] == 3
    assert row["usual_hi"] == pytest.approx(1.02**3.8754802232, rel=1e-3)


def test_kinds_of_sessions_that_say_nothing_of_each_other_are_lines_of_their_own(results, over_time):
    ask_of = [[ddp()], [ddp(0.5, device_type="cuda")], [ddp()], [ddp(2.0)]]
    make_session(
        results, [ddp(3.0)], session_id="quick", suite="nightly", created_at=BEGAN - timedelta(days=1)
    )
    path = results / "quick" / "session.json"
    write_json(path, json.loads(path.read_text()) | {"quick": True})
    ask = over_time(*ask_of)
    rows = ask("SELECT session_id, previous_session_id FROM history WHERE workers = 2 ORDER BY session_id")
    assert {row["session_id"]: row["previous_session_id"] for row in rows} == {
        "quick": None,
        "s00": None,
        "s01": None,
        "s02": "s00",
        "s03": "s02",
    }


def test_another_model_of_device_is_another_experiment(results, read_back):
    for day, device in enumerate(("NVIDIA H100", "NVIDIA H200", "NVIDIA H100")):
        at = BEGAN + timedelta(days=day)
        session = make_session(
            results, [ddp(device_type="cuda")], session_id=device + str(day), created_at=at
        )
        for run in session.glob("*/run.json"):
            found = json.loads(run.read_text())
            write_json(run, found | {"outcome": found["outcome"] | {"device_name": device}})
    rows = of_two_ranks(read_back())
    assert [row["unlike"] for row in rows] == [None, ["device"], []]
    assert [row["previous_session_id"] for row in rows] == [None, "NVIDIA H1000", "NVIDIA H1000"]
    assert [row["verdict"] for row in rows] == [None, None, "same"]


def test_more_ranks_than_slots_are_never_judged(over_time):
    rows = of_two_ranks(over_time([ddp()], [ddp(2.0, oversubscribed=frozenset({2}))]))
    assert rows[1]["ratio"] == pytest.approx(0.5)
    assert (rows[1]["verdict"], rows[1]["regression"]) == (None, False)


def test_another_suite_another_case_and_another_placement_have_their_own_history(over_time):
    ask = over_time(
        [Case(name="ddp", step_ms={8: REPEATS})],
        ([Case(name="ddp", step_ms={8: REPEATS})], {"suite": "other"}),
        [Case(name="ddp", step_ms={8: REPEATS}, ranks_per_node=4), Case(name="new", step_ms={8: REPEATS})],
    )
    assert {row["previous_session_id"] for row in ask("FROM history")} == {None}
