"""The views history and shared_changes: sessions of a suite over time, changes of level, and what changed."""

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
    found = short(
        ask("SELECT session_id, workers, level_first_order, level_last_order FROM history WHERE regression")
    )
    assert {tuple(row.values()) for row in found} == {("s03", 1, 1, 3), ("s03", 2, 1, 3)}


@over_time(*(([ddp()], {"created_at": BEGAN - timedelta(days=day)}) for day in range(3)))
def test_a_clock_that_went_back_between_sessions_orders_them_by_it_and_loses_none(rows):
    assert [(row["session_id"], row["previous_session_id"]) for row in rows] == [
        ("s02", None),
        ("s01", "s02"),
        ("s00", "s01"),
    ]
    assert [row["repeats"] for row in rows] == [3, 3, 3]


@over_time([ddp()], [Case(name="ddp", step_ms={2: [10.4, 10.9, 10.2]})])
def test_the_ratio_and_its_interval_are_those_of_compare(ask):
    (row,) = ask("FROM history WHERE ratio IS NOT NULL")
    (compared,) = ask(f"FROM compare('{row['previous_session_id']}', '{row['session_id']}')")
    for name in ("ratio", "ratio_lo", "ratio_hi"):
        assert row[name] == pytest.approx(compared[name], rel=1e-9), name


@over_time([ddp()], [ddp(batch=32)])
def test_another_batch_is_another_experiment_and_gets_no_verdict(rows):
    first, second = rows
    assert (first["is_alike"], first["unlike"], first["previous_session_id"]) == (None, None, None)
    assert second["ratio"] == pytest.approx(0.5)
    assert (second["is_alike"], second["unlike"], second["verdict"]) == (False, ["settings"], None)
    assert second["other_settings"] == "global_batch: 64 → 32"
    assert not second["regression"]
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
    assert (row["ratio"], row["ratio_lo"], row["ratio_hi"]) == (pytest.approx(0.5), None, None)
    assert (row["verdict"], row["regression"]) == ("inconclusive", False)


FAILED = {(n, repeat): "failed" for n in (1, 2) for repeat in range(3)}


@over_time([ddp()], [ddp(statuses=FAILED)], [ddp()])
def test_a_session_without_an_ok_repeat_is_a_row_that_the_next_one_looks_past(rows):
    assert [row["throughput"] is None for row in rows] == [False, True, False]
    assert (rows[1]["runs"], rows[1]["repeats"], rows[1]["ratio"]) == (3, 0, None)
    assert (rows[1]["previous_session_id"], rows[1]["experiment"]) == (None, None)
    assert rows[2]["previous_session_id"] == "s00"


@over_time(*([Case(name="ddp", step_ms={2: ms})] for ms in (*[10.0] * 8, *[10.15] * 3)))
def test_a_regression_must_be_beyond_the_margin(rows):
    assert {row["regression"] for row in rows} == {False}
    assert rows[8]["ratio"] == pytest.approx(1 / 1.015)


def of_many(step_ms_of_eight: Sequence[float]) -> Case:
    usual = [10.0, 10.02, 10.01]
    return Case(name="ddp", step_ms={**dict.fromkeys((1, 2, 4, 8, 16, 32), usual), 8: step_ms_of_eight})


@over_time([of_many([10.0, 10.02, 10.01])], [of_many([11.11, 11.13, 11.12])])
def test_a_tenth_more_on_one_of_many_placements_is_found_in_the_second_session(ask):
    found = ask("SELECT workers, level_ratio FROM history WHERE regression")
    assert [row["workers"] for row in found] == [8]
    assert found[0]["level_ratio"] == pytest.approx(10.01 / 11.12, rel=1e-3)


DRAW = random.Random(5)
DAYS = [1.0, 1.01, 0.99, 1.0] + [DRAW.gauss(1.0, 0.02) for _ in range(36)]


@over_time(*([Case(name="ddp", step_ms={2: [day * ms for ms in REPEATS]})] for day in DAYS))
def test_sessions_that_differ_by_noise_change_no_level_though_repeats_agree(ask):
    rows = ask("SELECT ratio_lo, ratio_hi, verdict FROM history WHERE ratio IS NOT NULL")
    assert sum(row["ratio_hi"] < 1 for row in rows) > 10  # by their repeats alone
    assert {row["verdict"] for row in rows} <= {"same", "inconclusive"}


CHANGED = """
    SELECT session_order, direction, first_order, level_first_order, level_last_order, ratio, returns
    FROM history_changes
    WHERE ranks_per_node = 2
    ORDER BY session_order
"""


@over_time(*([ddp(1.01**day)] for day in range(12)))
def test_losses_that_are_too_small_one_by_one_add_up(ask):
    found = ask(CHANGED)
    assert found[0]["direction"] == "slower"
    assert found[0]["session_order"] < 10
    assert found[0]["ratio"] < 0.97


@over_time(
    *([ddp()] for _ in range(5)),
    [ddp(5.0, oversubscribed=frozenset({2}))],
    [ddp(1.25)],
)
def test_a_session_with_more_ranks_than_slots_is_no_part_of_a_level(ask):
    (found,) = ask(CHANGED)
    assert (found["session_order"], found["level_first_order"], found["level_last_order"]) == (7, 1, 5)
    assert found["ratio"] == pytest.approx(0.8)


@over_time(*([ddp(day)] for day in (*[1.0, 1.005] * 4, 1.43, *[1.0, 1.005] * 2, *[1.11] * 3)))
def test_one_odd_session_hides_no_later_loss(ask):
    found = ask(CHANGED)
    assert [(row["session_order"], row["direction"], row["returns"]) for row in found] == [
        (9, "slower", False),
        (10, "faster", True),
        (14, "slower", False),
    ]
    assert (found[2]["level_first_order"], found[2]["level_last_order"]) == (1, 13)


@over_time(*([ddp(day)] for day in (1.0, 1.005, 1.0, 1.005, 1.0, 1.005, 1.3, 1.305, 1.3, 1.305)))
def test_a_loss_is_one_change_and_then_the_level(ask):
    assert [(row["session_order"], row["direction"]) for row in ask(CHANGED)] == [(7, "slower")]


@over_time(*([Case(name="ddp", step_ms={2: ms}, repeats=1)] for ms in (*[10.0, 10.1] * 4, 12.0)))
def test_single_repeats_show_a_change_once_sessions_have_shown_how_they_vary(rows):
    assert [row["regression"] for row in rows] == [*[False] * 8, True]


def twelve(factor: float = 1.0, run_of_one: float = 1.0, **of_case: float) -> list[Case]:
    """Twelve cases whose repeats vary by a percent; `of_case` are factors by case."""
    return [
        Case(
            name=f"case{number:02}",
            step_ms={
                1: [
                    factor
                    * of_case.get(f"case{number:02}", 1.0)
                    * ms
                    * (run_of_one if (number, repeat) == (3, 1) else 1)
                    for repeat, ms in enumerate((10.0, 10.0 + 0.01 * number, 10.1 - 0.01 * number))
                ]
            },
            accuracy=None,
        )
        for number in range(12)
    ]


NODE_A, NODE_B = ({"environment": {"0": {"hostname": name}}} for name in ("node-a", "node-b"))
SHARED = "SELECT session_order, direction, ratio, subject, cause, changes FROM shared_changes"


@over_time(*[(twelve(), NODE_A)] * 8, (twelve(1.032), NODE_B))
def test_what_all_cases_share_is_one_change_of_the_machine_if_code_and_software_are_the_same(ask):
    (found,) = ask(SHARED)
    assert (found["session_order"], found["direction"], found["subject"]) == (9, "slower", "all 12 cases")
    assert (found["cause"], found["changes"]) == ("the machine", "nodes: node-a → node-b")
    assert found["ratio"] == pytest.approx(1 / 1.032, rel=1e-3)
    rows = ask("SELECT regression, ratio FROM history WHERE session_order = 9")
    assert {row["regression"] for row in rows} == {False}
    assert all(row["ratio"] == pytest.approx(1 / 1.032) for row in rows), "shown ratios keep what all share"


@over_time(*[(twelve(), TORCH_14)] * 8, (twelve(1.032, case05=1.2), TORCH_15))
def test_one_case_that_lost_more_than_all_is_a_regression_of_its_own(ask):
    (found,) = ask(SHARED)
    assert (found["subject"], found["cause"]) == ("all 12 cases", "something that they share")
    assert found["changes"] == "torch: 2.14.0 → 2.15.0"
    (row,) = ask("SELECT case_name, level_ratio FROM history WHERE regression")
    assert row["case_name"] == "case05"
    assert row["level_ratio"] == pytest.approx(1 / 1.032 / 1.2, rel=1e-3)


@over_time(*[twelve()] * 8, twelve(1.1, case05=1 / 1.1))
def test_a_case_that_did_not_move_with_all_is_neither_faster_nor_counted(ask):
    assert [row["subject"] for row in ask(SHARED)] == ["11 of 12 cases"]
    assert ask("SELECT case_name FROM history WHERE regression OR improvement") == []


@over_time(*[twelve()] * 8, twelve(run_of_one=1.5), twelve(case03=1.2))
def test_a_session_with_an_odd_run_is_shown_but_neither_judged_nor_part_of_the_level(ask):
    rows = ask("SELECT * FROM history WHERE case_name = 'case03' ORDER BY session_order")
    assert [row["odd_runs"] for row in rows] == [*[0] * 8, 1, 0]
    assert (rows[8]["verdict"], rows[8]["throughput"] is None) == (None, False)
    assert (rows[9]["verdict"], rows[9]["level_first_order"], rows[9]["level_last_order"]) == ("slower", 1, 8)
    assert rows[9]["previous_session_id"] == rows[7]["session_id"]


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


@over_time(*([ddp(day)] for day in (*[1.0] * 8, 1 / 1.2, 1.0)))
def test_an_improvement_is_decided_like_a_regression(ask, rows):
    changes = [(row["improvement"], row["regression"]) for row in rows]
    assert changes == [*[(False, False)] * 8, (True, False), (False, True)]
    assert len(ask("FROM history WHERE improvement")) == 2
