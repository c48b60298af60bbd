"""Findings on a terminal and in JSON."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from analysis import summary
from analysis.database import connections
from analysis.diagnosis import findings
from analysis.diagnosis.advice import any_certain, first_advice
from bench.cli.summary import command
from tests.factory import Case, make_session

SLOWER = {1: [10.0, 10.1, 10.2], 2: [15.0, 15.1, 15.2], 4: [14.0, 14.1, 14.2]}
SCALES = {1: [10.0, 10.1, 10.2], 2: [5.0, 5.05, 5.1]}


def write_sessions(results: Path) -> None:
    crowded = Case(name="c", step_ms={1: 10.0, 4: 9.0}, oversubscribed=frozenset({4}))
    cases = [Case(name="a", step_ms=SLOWER), Case(name="b", step_ms=SLOWER), crowded]
    make_session(results, cases, session_id="slow")
    make_session(results, [Case(name="[red]a", step_ms=SLOWER)], session_id="odd's")
    make_session(results, [Case(name="a", step_ms=SCALES, steps=40)], session_id="fine")
    make_session(results, [Case(name="a", step_ms={1: 10.0, 2: 8.0, 8: 40.0}, batch=4)], session_id="few")


@pytest.fixture
def results(shared: Path) -> Path:
    return shared


def found(results: Path, session_id: str) -> list[findings.Row]:
    with connections.reader(results) as connection:
        rows = findings.read(connection, session_id)
    return [row for row in rows if row["finding"] in ("negative_scaling", "oversubscribed")]


def test_the_gravest_come_first_and_one_that_several_cases_have_comes_once(results):
    tried = {"oversubscribed": "bench suite smoke --world 2"}
    rows = [row | {"command": tried.get(row["finding"])} for row in found(results, "slow")]
    shown = list(findings.lines(rows, [], Path("results")))
    assert shown[0] == "What to change"
    assert shown[1].startswith("  1. Slower on more workers (")
    assert shown[1].endswith(" and 1 other case): certain")
    place = shown.index("  2. More ranks than slots (c 1x4): certain")
    assert shown[place + 1 : place + 4] == [
        "    c ran with 4 ranks, more than the machine has slots for",
        "    Request as many GPUs (on CPUs: cores) as there are ranks, or measure fewer ranks.",
        "    try: bench suite smoke --world 2",
    ]
    assert max(map(len, shown)) <= 100
    narrow = findings.lines(rows, [], Path("results"), width=60)
    assert max(len(line) for line in narrow if "bench " not in line) <= 60
    called = list(findings.lines(rows, [], Path("results"), program="python -m bench"))
    assert called[place + 3] == "    try: python -m bench suite smoke --world 2"
    assert called[-1].endswith("`python -m bench findings slow`")
    assert shown[-1] == "3 findings with advice: `bench findings slow`"


def test_the_command_for_all_findings_names_the_results_folder_and_quotes_an_odd_name(results):
    *_, last = findings.lines(found(results, "odd's"), [], Path("my results"))
    assert shlex.split(last.replace("`", " "))[-5:] == [
        "bench",
        "findings",
        "odd's",
        "--results",
        "my results",
    ]


def test_no_more_than_three_are_shown(results):
    row = found(results, "slow")[0]
    many = [row | {"finding": f"f{number}", "severity": "warning"} for number in range(5)]
    assert len(first_advice(many, [])) == 3
    assert first_advice([row | {"severity": "notice"}], []) == []


POINT = {
    "case_name": "a", "workers": 4, "oversubscribed": False, "is_baseline": False, "efficiency": 0.5,
    "verdict_lo": "poor", "verdict_hi": "superlinear", "throughput": 1.0, "speedup": 2.0,
    "verdict": "undecided", "repeats": 3, "slow_runs": 0, "resolution": None,
    "is_published": False, "repeats_needed": 6,
}  # fmt: skip
DECIDED = POINT | {"case_name": "b", "verdict_hi": "poor"}
ROW = {
    "finding": "small_batch", "severity": "warning", "case_name": "a", "cost": 0.4, "certainty": "shown",
    "options": "--set x=1", "short_advice": "Do it. With care.", "short_evidence": "it is so; and so",
    "finding_order": 1,
}  # fmt: skip
OPEN = ROW | {
    "finding": "undecided", "cost": None, "options": "--repeats 9",
    "short_advice": "Take 6 more rounds; in 7 to 9 sessions of 10 they are enough.",
}  # fmt: skip


def names(rows, *points):
    return [one.worst["finding"] for one in first_advice(rows, points)]


def test_of_an_undecided_case_what_makes_it_surer_comes_before_what_changes_its_training():
    few = OPEN | {"finding": "too_few_repeats"}
    slower = ROW | {"finding": "negative_scaling", "severity": "critical"}
    spoilt = ROW | {"finding": "different_loss", "severity": "critical", "cost": None}
    assert names([slower, ROW, OPEN], POINT) == ["undecided", "negative_scaling", "small_batch"]
    assert names([slower, spoilt, ROW, OPEN], POINT) == ["different_loss", "undecided", "negative_scaling"]
    elsewhere = few | {"case_name": "b"}
    assert names([ROW, elsewhere], DECIDED) == ["small_batch"]
    repeat = first_advice([OPEN, few, elsewhere], [POINT, DECIDED])
    assert [one.title for one in repeat] == ["Take 6 more rounds."]
    assert repeat[0].cases == ("a",)
    assert repeat[0].evidence == "a may be anything from poor to superlinear"
    assert repeat[0].certainty == ""


def test_what_makes_runs_fail_comes_before_more_of_them():
    failed = ROW | {"finding": "runs_not_ok", "cost": None, "options": "--resume s"}
    assert names([ROW, OPEN, failed], POINT) == ["runs_not_ok", "undecided", "small_batch"]


def test_what_is_decided_comes_first_and_does_not_hide_what_is_open():
    decided = [ROW | {"case_name": "b", "finding": f"f{number}"} for number in range(4)]
    assert names([*decided, ROW, OPEN], POINT, DECIDED) == ["f0", "f1", "undecided"]


def test_what_is_certain_and_costs_time_comes_before_what_is_likely_or_costs_nothing_known():
    likely = ROW | {"case_name": "b", "certainty": "likely", "cost": 0.45}
    free = ROW | {"case_name": "b", "finding": "oversubscribed", "cost": None}
    whole = ROW | {"case_name": "b", "finding": "negative_scaling", "cost": 0.5, "options": None}
    certain = ROW | {"case_name": "b", "finding": "data_bound", "cost": 0.1}
    assert names([likely, free, whole, certain], DECIDED)[:2] == ["data_bound", "oversubscribed"]
    assert any_certain(first_advice([certain], [DECIDED]))
    assert not any_certain(first_advice([likely, OPEN], [POINT, DECIDED]))
    node = whole | {"finding": "slow_node"}
    assert names([free, node], DECIDED) == ["slow_node", "oversubscribed"]


def test_one_command_changes_every_case_of_a_finding():
    sets = [ROW | {"case_name": case, "options": f"--set cases.{case}.strategy=ddp"} for case in "bc"]
    (one,) = first_advice(sets, [DECIDED])
    assert one.options == "--set cases.b.strategy=ddp --set cases.c.strategy=ddp"
    (one,) = first_advice([sets[0], sets[1] | {"options": "--repeats 9"}], [DECIDED])
    assert one.options == "--set cases.b.strategy=ddp"


def test_one_command_sets_no_key_twice():
    both = [
        ROW | {"case_name": case, "options": f"--set cases.b.global_batch={n}"}
        for case, n in (("b", 2), ("c", 4))
    ]
    (one,) = first_advice(both, [DECIDED])
    assert one.options == "--set cases.b.global_batch=2"


def test_an_odd_run_asks_for_no_repeats():
    odd = ROW | {"finding": "odd_run", "cost": None, "options": None, "case_name": None}
    (one,) = first_advice([odd], [DECIDED])
    assert one.title == "Do it."


def test_a_loss_without_a_known_cause_is_advice_where_there_is_room():
    unexplained = ROW | {"finding": "unexplained_loss", "severity": "notice"}
    assert names([unexplained, ROW], DECIDED) == ["small_batch", "unexplained_loss"]
    many = [ROW | {"finding": f"f{number}"} for number in range(3)]
    assert names([*many, unexplained], DECIDED) == ["f0", "f1", "f2"]


def test_advice_is_its_first_sentence_and_does_not_end_within_parentheses():
    (one,) = first_advice([ROW], [DECIDED])
    assert (one.title, one.evidence) == ("Do it.", "it is so")
    (one,) = first_advice([ROW | {"short_advice": "Use (on CPUs: cores) more; it is faster."}], [DECIDED])
    assert one.title == "Use (on CPUs: cores) more; it is faster."


def test_one_repeat_decides_nothing():
    once = OPEN | {"finding": "one_repeat", "case_name": None, "options": "--repeats 5"}
    assert names([ROW, once], POINT | {"verdict_lo": None, "verdict_hi": None}) == [
        "one_repeat",
        "small_batch",
    ]


def test_a_terminal_leaves_out_details_and_alternatives_but_no_caution(results):
    (row,) = found(results, "slow")[:1]
    shown = " ".join(line.strip() for line in findings.lines([row | {"severity": "critical"}], [], results))
    assert row["short_evidence"] in shown
    assert row["short_advice"] in shown


def test_a_finding_without_figures_has_its_title_as_evidence(results):
    with connections.reader(results) as connection:
        rows = findings.read(connection, "few")  # more ranks than examples: no figures of a rank's batch
    (row,) = [row for row in rows if row["finding"] == "small_batch"]
    assert row["short_evidence"] == row["evidence"] == row["title"]
    assert any(row["title"] in line for line in findings.lines(rows, [], results))


def test_nothing_is_said_where_nothing_was_found(results):
    assert found(results, "fine") == []
    assert list(findings.lines([], [], results)) == []


def test_the_summary_says_them_before_its_headline_and_a_name_is_no_markup(results):
    out = Console(width=1_000, color_system=None, force_terminal=False)
    with out.capture() as captured:
        summary.show(results, "odd's", out=out)
    lines = captured.get().splitlines()
    place = lines.index("What to change")
    assert "([red]a 1x" in lines[place + 1]
    assert place < len(lines) - 2


def test_json_has_every_finding_with_the_command_that_tries_its_remedy(results):
    rows = summary.answer(results, "slow")["diagnosis"]
    assert [row["finding_order"] for row in rows] == list(range(1, len(rows) + 1))
    commands = {row["options"]: row["command"] for row in rows}
    assert commands.pop(None) is None
    assert commands == {"--set measure.profiled=4": "bench suite smoke --set measure.profiled=4"}


def test_a_narrow_terminal_cuts_nothing_off(results, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sys.argv", ["bench"])  # a command is in one piece, and this begins it
    done = CliRunner().invoke(command, ["slow", "--results", str(results)])
    assert done.exit_code == 0
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "more than the machine has slots for" in " ".join(done.stdout.split())
