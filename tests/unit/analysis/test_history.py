"""The views history, regressions and gradual_regressions: sessions of a suite over time, and what changed."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.factory import BEGAN, Case, make_session, write_json
from tests.unit.analysis.conftest import Write, asks

REPEATS = [10.0, 10.1, 10.05]
Torch = Mapping[str, Mapping[str, str]]


def torch(version: str) -> Torch:
    return {"0": {"torch": version}}


def ddp(factor: float = 1.0, **more: Any) -> Case:
    step_ms = {1: [18.0 * factor] * 3, 2: [factor * ms for ms in REPEATS]}
    return Case(name="ddp", step_ms=step_ms, accuracy=None, **more)


def sessions_over_time(*sessions: Sequence[Case] | tuple[Sequence[Case], Mapping[str, Any]]) -> Write:
    """Writes sessions s00, s01 and so on of one suite, a day apart, each of cases or of (cases, arguments of
    make_session)."""

    def write(results: Path, name: str) -> None:
        for day, session in enumerate(sessions):
            cases, more = session if isinstance(session, tuple) else (session, {})
            usual = {"suite": name, "created_at": BEGAN + timedelta(days=day)}
            make_session(results, cases, session_id=f"{name}s{day:02d}", **{**usual, **more})

    return write


def over_time(*sessions: Any) -> pytest.MarkDecorator:
    return asks(sessions_over_time(*sessions))


def short(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with the ends of the sessions' names: s00."""
    return [
        {
            name: value and value.rpartition("-")[2] if name.endswith("session_id") else value
            for name, value in row.items()
        }
        for row in rows
    ]


def of_two_ranks(ask: Any) -> list[dict[str, Any]]:
    return short(ask("FROM history WHERE workers = 2 ORDER BY session_order"))


@pytest.fixture
def rows(ask: Any) -> list[dict[str, Any]]:
    return of_two_ranks(ask)


TORCH_14, TORCH_15 = ({"environment": torch(version)} for version in ("2.14.0", "2.15.0"))


@over_time(*[([ddp()], TORCH_14)] * 3, *[([ddp(1 / 0.9)], TORCH_15)] * 2)
def test_a_planted_regression_of_a_tenth_is_found_in_its_session_alone_and_named_with_what_changed(ask, rows):
    assert [row["verdict"] for row in rows] == [None, "same", "same", "slower", "same"]
    assert rows[3]["ratio"] == pytest.approx(0.9)
    assert rows[3]["ratio_lo"] < 0.9 < rows[3]["ratio_hi"] < 0.98
    assert rows[3]["changed"] == ["torch"]
    assert rows[3]["changes"] == "torch: 2.14.0 → 2.15.0"
    assert (rows[4]["changed"], rows[4]["changes"]) == ([], "")
    found = short(ask("SELECT session_id, workers, previous_session_id FROM regressions"))
    assert {tuple(row.values()) for row in found} == {("s03", 1, "s02"), ("s03", 2, "s02")}


@over_time(*(([ddp()], {"created_at": BEGAN - timedelta(days=day)}) for day in range(3)))
def test_a_clock_that_went_back_between_sessions_orders_them_by_it_and_loses_none(rows):
    assert [(row["session_id"], row["previous_session_id"]) for row in rows] == [
        ("s02", None),
        ("s01", "s02"),
        ("s00", "s01"),
    ]
    assert [row["repeats"] for row in rows] == [3, 3, 3]


@over_time([ddp()], [Case(name="ddp", step_ms={2: [10.4, 10.9, 10.2]})])
def test_the_ratio_its_interval_and_its_verdict_are_those_of_compare(ask):
    (row,) = ask("FROM history WHERE ratio IS NOT NULL")
    sides = f"'{row['previous_session_id']}', '{row['session_id']}'"
    (compared,) = ask(f"FROM compare({sides}, margin := 0.02, max_regression := 0.02)")
    for name in ("ratio", "ratio_lo", "ratio_hi", "regression_p", "holm_p"):
        assert row[name] == pytest.approx(compared[name], rel=1e-9), name
    assert (row["verdict"], row["regression"]) == (compared["verdict"], compared["regression"])


@over_time([ddp()], [ddp(batch=32)])
def test_another_batch_is_another_experiment_and_gets_no_verdict(rows):
    first, second = rows
    assert (first["is_alike"], first["unlike"], first["previous_session_id"]) == (None, None, None)
    assert second["ratio"] == pytest.approx(0.5)
    assert (second["is_alike"], second["unlike"], second["verdict"]) == (False, ["settings"], None)
    assert second["other_settings"] == "global_batch: 64 → 32"
    assert (second["regression_p"], second["regression"]) == (None, False)
    assert [first["experiment"], second["experiment"]] == [1, 2]


@over_time([ddp()], [ddp(batch=32)], [ddp(1.25)])
def test_after_a_detour_a_session_is_compared_with_the_last_of_its_own_experiment(rows):
    row = rows[2]
    assert (row["previous_session_id"], row["experiment"], row["is_alike"]) == ("s00", 1, True)
    assert row["ratio"] == pytest.approx(0.8)
    assert (row["verdict"], row["regression"]) == ("slower", True)


@over_time([ddp()], [ddp(accumulate=2, precision="bf16", steps=8)])
def test_settings_that_differ_are_named_by_their_keys(rows):
    assert (
        rows[1]["other_settings"]
        == "measure.steps: 10 → 8, train.accumulate: 1 → 2, train.precision: fp32 → bf16"
    )


def command(*words: str) -> list[Case]:
    return [ddp(options={"command": ["python", "train.py", *words]})]


@over_time(
    command("--batch", "64", "--lr", "0.1"), command("--batch", "32", "--lr", "0.1"),
    command("--batch", "32", "--lr", "0.1", "--fast"), command("--fast"), command("--fast"),
)  # fmt: skip
def test_of_a_command_only_the_words_that_differ_are_named(rows):
    assert [row["other_settings"] for row in rows] == [
        None,
        "workload.command: … --batch 64 … → … --batch 32 …",
        "workload.command: … 0.1 → … 0.1 --fast",
        "workload.command: … train.py --batch 32 --lr 0.1 … → … train.py …",
        None,
    ]


@over_time([ddp()], [Case(name="ddp", step_ms={2: REPEATS[:2]}, repeats=2)])
def test_how_often_a_run_is_repeated_is_no_other_experiment(rows):
    assert rows[1]["is_alike"]


@over_time(
    ([ddp()], {"environment": {"0": {"hostname": "node-a"}}}),
    ([ddp()], {"environment": {"0": {"hostname": "node-b"}}}),
)
def test_what_is_only_worth_knowing_is_told_apart(rows):
    row = rows[1]
    assert (row["changed"], row["also_changed"]) == ([], ["nodes"])
    assert row["also_changes"] == "nodes: node-a → node-b"
    assert row["verdict"] == "same"


@over_time([ddp()])
def test_one_session_has_a_history_of_one_row_per_placement_without_a_ratio(rows):
    assert len(rows) == 1
    assert (rows[0]["ratio"], rows[0]["verdict"], rows[0]["previous_session_id"]) == (None, None, None)
    assert (rows[0]["repeats"], rows[0]["regression"]) == (3, False)
    assert rows[0]["throughput"] == pytest.approx(64 / 0.01005, rel=1e-3)


@over_time(*([Case(name="ddp", step_ms={2: ms}, repeats=1)] for ms in (10.0, 20.0)))
def test_single_repeats_have_a_ratio_without_interval_and_are_no_regression(rows):
    row = rows[1]
    assert (row["ratio"], row["ratio_lo"], row["ratio_hi"]) == (0.5, None, None)
    assert (row["verdict"], row["regression"]) == ("inconclusive", False)


FAILED = {(n, repeat): "failed" for n in (1, 2) for repeat in range(3)}


@over_time([ddp()], [ddp(statuses=FAILED)], [ddp()])
def test_a_session_without_an_ok_repeat_is_a_row_that_the_next_one_looks_past(rows):
    assert [row["throughput"] is None for row in rows] == [False, True, False]
    assert (rows[1]["runs"], rows[1]["repeats"], rows[1]["ratio"]) == (3, 0, None)
    assert (rows[1]["previous_session_id"], rows[1]["experiment"]) == (None, None)
    assert rows[2]["previous_session_id"] == "s00"


@over_time(*([Case(name="ddp", step_ms={2: ms})] for ms in (10.0, 10.15)))
def test_a_regression_must_be_beyond_the_margin(ask):
    (row,) = ask("FROM history WHERE ratio IS NOT NULL")
    assert (row["verdict"], row["regression"]) == ("slower", False)


def of_many(step_ms_of_eight: Sequence[float]) -> Case:
    usual = [10.0, 10.02, 10.01]
    return Case(name="ddp", step_ms={**dict.fromkeys((1, 2, 4, 8, 16, 32), usual), 8: step_ms_of_eight})


@over_time([of_many([10.0, 10.02, 10.01])], [of_many([11.11, 11.13, 11.12])])
def test_a_tenth_more_on_one_of_many_placements_stands_after_holm(ask):
    assert [row["workers"] for row in ask("FROM regressions")] == [8]
    rows = ask("SELECT workers, regression_p, holm_p FROM history WHERE ratio IS NOT NULL")
    worst = min(rows, key=lambda row: row["regression_p"])
    assert worst["workers"] == 8
    assert worst["holm_p"] == pytest.approx(6 * worst["regression_p"])


DRAW = random.Random(5)
DAYS = [1.0, 1.01, 0.99, 1.0] + [DRAW.gauss(1.0, 0.02) for _ in range(36)]


@over_time(*([Case(name="ddp", step_ms={2: [day * ms for ms in REPEATS]})] for day in DAYS))
def test_sessions_that_differ_by_noise_hold_no_regression_though_repeats_agree(ask):
    rows = ask(
        "SELECT verdict, ratio, usual_lo, usual_hi, unchanged_pairs FROM history WHERE verdict IS NOT NULL"
    )
    assert len(rows) == 39
    assert sum(row["verdict"] == "slower" for row in rows) > 10  # by their repeats alone
    assert ask("SELECT session_id, ratio, usual_lo FROM regressions") == []
    known = [row for row in rows if row["usual_lo"] is not None]
    assert {row["unchanged_pairs"] for row in known} == set(range(3, 39))
    assert all(row["usual_lo"] * row["usual_hi"] == pytest.approx(1) for row in known)


@over_time(*([ddp(day)] for day in (1.0, 1.02, 0.99, 1.01, 0.99, 1.0, 1.25)))
def test_a_regression_larger_than_the_usual_noise_between_sessions_is_found(ask, rows):
    assert {row["session_id"] for row in short(ask("FROM regressions"))} == {"s06"}
    row = rows[6]
    assert row["unchanged_pairs"] == 5
    assert row["ratio"] < 0.98 * row["usual_lo"] < 0.95


@over_time(*([ddp(day)] for day in (1.0, 1.02, 1.0, 1.02, 1.0)))
def test_what_is_usual_comes_from_earlier_pairs_of_which_nothing_changed(rows):
    row = rows[4]
    # four ratios so far, three of them before this one, each of 2 %: t at 2 * 9 / 8 degrees of freedom
    assert row["unchanged_pairs"] == 3
    assert row["usual_hi"] == pytest.approx(1.02**3.8754802232, rel=1e-3)


GRADUAL = """
    SELECT session_id, reference_session_id, sessions_since, ratio, usual_hi
    FROM gradual_regressions
    WHERE workers = 2
    ORDER BY session_order
"""


@over_time(*([ddp(1.015**day)] for day in range(7)))
def test_losses_that_are_too_small_one_by_one_add_up(ask):
    assert ask("FROM regressions") == []
    found = short(ask(GRADUAL))
    assert [(row["session_id"], row["reference_session_id"]) for row in found] == [
        ("s05", "s00"),
        ("s06", "s00"),
    ]
    last = found[-1]
    assert last["sessions_since"] == 6
    assert last["ratio"] == pytest.approx(1.015**-6, rel=1e-6)
    # six ratios of 1.5 %: t at 2 * 36 / 17 degrees of freedom
    assert last["usual_hi"] == pytest.approx(1.015**2.7166, rel=1e-3)


@over_time(
    [ddp(0.5, oversubscribed=frozenset({2}))],
    *([ddp(1.015**day)] for day in range(4)),
    [ddp(5.0, oversubscribed=frozenset({2}))],
    *([ddp(1.015**day)] for day in range(4, 7)),
)
def test_sessions_with_more_ranks_than_slots_are_left_out_of_what_adds_up(ask):
    *_, last = short(ask(GRADUAL))
    assert (last["session_id"], last["reference_session_id"], last["sessions_since"]) == ("s08", "s01", 6)
    assert last["ratio"] == pytest.approx(1.015**-6, rel=1e-6)


@over_time([ddp()], *([ddp(1.2 * 1.015**day)] for day in range(7)))
def test_losses_add_up_since_the_last_regression(ask):
    assert {row["session_id"] for row in short(ask("FROM regressions"))} == {"s01"}
    assert {row["reference_session_id"] for row in short(ask(GRADUAL))} == {"s01"}


@over_time(
    *([ddp(1.015**day)] for day in range(5)), [ddp(0.9)], *([ddp(0.9 * 1.015**day)] for day in range(1, 4))
)
def test_an_improvement_begins_anew(ask):
    assert ask("SELECT session_order FROM history WHERE improvement AND workers = 2") == [
        {"session_order": 6}
    ]
    assert ask(GRADUAL) == []


@over_time([ddp(1.3)], *([ddp(1.015**day)] for day in range(8)))
def test_losses_add_up_since_the_session_after_an_improvement(ask):
    assert {row["reference_session_id"] for row in short(ask(GRADUAL))} == {"s02"}


@over_time(*([ddp(day)] for day in (1.0, 1.0, 1.0, 0.93, *[1.0] * 14)))
def test_sessions_after_one_that_was_fast_by_chance_have_lost_nothing(ask):
    assert ask("SELECT session_order FROM history WHERE improvement AND workers = 2") == [
        {"session_order": 4}
    ]
    assert ask("FROM gradual_regressions") == []


@over_time(*([ddp(day)] for day in (1.0, 1.015, 1.0, 1.015, 1.03, 1.015, 1.03)))
def test_sessions_that_vary_as_much_have_lost_nothing_for_certain(ask):
    assert ask("FROM gradual_regressions") == []


def _kinds(results: Path, name: str) -> None:
    sessions_over_time([ddp()], [ddp(0.5, device_type="cuda")], [ddp()], [ddp(2.0)])(results, name)
    before = BEGAN - timedelta(days=1)
    quick = make_session(results, [ddp(3.0)], session_id=name + "quick", suite=name, created_at=before)
    path = quick / "session.json"
    write_json(path, json.loads(path.read_text()) | {"quick": True})


@asks(_kinds)
def test_kinds_of_sessions_that_say_nothing_of_each_other_are_lines_of_their_own(rows):
    assert {row["session_id"]: row["previous_session_id"] for row in rows} == {
        "quick": None,
        "s00": None,
        "s01": None,
        "s02": "s00",
        "s03": "s02",
    }


def on_device(name: str) -> Case:
    return ddp(device_type="cuda", outcome={"device_name": name})


@over_time([on_device("NVIDIA H100")], [on_device("NVIDIA H200")], [on_device("NVIDIA H100")])
def test_another_model_of_device_is_another_experiment(rows):
    assert [row["unlike"] for row in rows] == [None, ["device"], []]
    assert [row["previous_session_id"] for row in rows] == [None, "s00", "s00"]
    assert [row["verdict"] for row in rows] == [None, None, "same"]


@over_time([ddp()], [ddp(2.0, oversubscribed=frozenset({2}))])
def test_more_ranks_than_slots_are_never_judged(rows):
    assert rows[1]["ratio"] == pytest.approx(0.5)
    assert (rows[1]["verdict"], rows[1]["regression"]) == (None, False)


@over_time([ddp()], [ddp(5.0, oversubscribed=frozenset({2}))], [ddp(2.0)])
def test_a_session_with_more_ranks_than_slots_hides_no_regression(rows):
    assert [row["previous_session_id"] for row in rows] == [None, "s00", "s00"]
    assert [row["regression"] for row in rows] == [False, False, True]


@over_time(
    [Case(name="ddp", step_ms={8: REPEATS})],
    ([Case(name="ddp", step_ms={8: REPEATS})], {"suite": "other"}),
    [Case(name="ddp", step_ms={8: REPEATS}, ranks_per_node=4), Case(name="new", step_ms={8: REPEATS})],
)
def test_another_suite_another_case_and_another_placement_have_their_own_history(ask):
    assert {row["previous_session_id"] for row in ask("FROM history")} == {None}


def _with_code(results: Path, name: str) -> None:
    """Three sessions; the second changes five files, the third only the commit and an imported file."""
    files = [f"part{n}.py" for n in range(5)]
    once = {f"content of {file}": "1" for file in files} | {"user_commit": "a" * 40}
    twice = {f"content of {file}": "2" for file in files} | {"user_commit": "b" * 40 + ", changed"}
    thrice = twice | {"user_commit": "c" * 40, "content of new.py": "3"}
    sessions_over_time(*[[ddp()]] * 3)(results, name)
    for day, code in enumerate((once, twice, thrice)):
        for path in (results / f"{name}s{day:02d}").glob("*/run.json"):
            run = json.loads(path.read_text("utf-8"))
            write_json(path, run | {"fingerprint": run["fingerprint"] | code})


@asks(_with_code)
def test_files_of_the_users_code_are_one_change_with_the_commit(rows):
    assert [row["changes"] for row in rows] == [
        None,
        f"code: part0.py, part1.py, part2.py, part3.py and 1 more (commit {12 * 'a'} → {12 * 'b'}, changed)",
        "",
    ]
    assert rows[1]["changed"] == [f"content of part{n}.py" for n in range(5)]
    assert (rows[1]["also_changed"], rows[1]["also_changes"]) == (["user_commit"], "")
    assert rows[2]["also_changes"] == (
        f"code: only this session has new.py; user_commit: {12 * 'b'}, changed → {12 * 'c'}"
    )


def _with_training_code(results: Path, name: str) -> None:
    """Four sessions: the second has another version and commit, the third another commit, the fourth neither."""
    versions = [("0.1.0", "a"), ("0.2.0", "b"), ("0.2.0", "c"), ("0.2.0", "c")]
    sessions_over_time(*[[ddp()]] * 4)(results, name)
    for day, (version, commit) in enumerate(versions):
        code = {"training_code": 16 * "abcdef"[day], "scalebench": version, "commit": 12 * commit}
        for path in (results / f"{name}s{day:02d}").glob("*/run.json"):
            run = json.loads(path.read_text("utf-8"))
            write_json(path, run | {"fingerprint": run["fingerprint"] | code})


@asks(_with_training_code)
def test_training_code_is_named_by_its_version_and_commit_and_by_digests_only_without_them(rows):
    assert [row["changes"] for row in rows[1:]] == [
        f"training code: commit {12 * 'a'} → {12 * 'b'}, scalebench 0.1.0 → 0.2.0",
        f"training code: commit {12 * 'b'} → {12 * 'c'}",
        f"training code: digest {8 * 'c'} → {8 * 'd'}",
    ]
    assert [row["also_changes"] for row in rows[1:]] == ["", "", ""]
    assert rows[1]["also_changed"] == ["commit", "scalebench"]


@over_time(*([ddp(day)] for day in (1.0, 1.0, 1 / 1.1, 1.0)))
def test_an_improvement_is_decided_like_a_regression(ask, rows):
    assert [(row["improvement"], row["regression"]) for row in rows] == [
        (False, False),
        (False, False),
        (True, False),
        (False, True),
    ]
    assert len(ask("FROM history WHERE improvement")) == 2


@over_time(*([Case(name="ddp", step_ms={2: ms})] for ms in (10.15, 10.0)))
def test_an_improvement_must_be_beyond_the_margin(ask):
    (row,) = ask("FROM history WHERE ratio IS NOT NULL")
    assert (row["verdict"], row["improvement"]) == ("faster", False)


@over_time(*([Case(name="ddp", step_ms={2: [day * ms for ms in REPEATS]})] for day in DAYS))
def test_sessions_that_differ_by_noise_hold_no_improvement_though_repeats_agree(ask):
    assert sum(row["verdict"] == "faster" for row in ask("FROM history")) > 10  # by their repeats alone
    assert ask("SELECT session_id, ratio, usual_lo FROM history WHERE improvement") == []
