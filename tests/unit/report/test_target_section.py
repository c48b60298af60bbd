"""Time to a target, as terminal, page and exports show it."""

from __future__ import annotations

import io
import json

import pytest
from click.testing import CliRunner
from rich.console import Console

from analysis import summary
from analysis.wording.target import sentence
from bench.cli.export import command as export
from tests.factory import Case, make_session
from tests.unit.report.conftest import contents_of, section_of
from tests.unit.report.test_session_page import rows_of, words

SETTINGS = {
    "scaling": "weak", "repeats": 10, "warmup": 2, "steps": 198, "validate_every": 10, "until_loss": 0.5,
    "setup_s": 0.4, "validation_ms": 1.0,
}  # fmt: skip


def steps(*sizes):
    """Steps to the target of each repeat, for each size in turn; null: missed."""
    return {(2**place, repeat): step for place, size in enumerate(sizes) for repeat, step in enumerate(size)}


def write_sessions(results):
    """`target`: two workers reach the target, half of the runs of four miss it. `plain` has no target."""
    two = [30, 40, 50, 30, 40, 50, 30, 40, 50, None]
    target_step = steps([40, 50] * 5, two, [60, None] * 5)
    make_session(
        results,
        [Case(name="ddp", step_ms={1: 10.0, 2: 5.0, 4: 4.0}, target_step=target_step, **SETTINGS)],
        session_id="target",
        suite="target",
    )
    make_session(results, [Case(name="ddp", step_ms={1: 10.0})], session_id="plain", suite="plain")


@pytest.fixture
def results(shared):
    return shared


def said(results, session, width):
    out = io.StringIO()
    summary.show(results, session, out=Console(file=out, width=width, color_system=None))
    return out.getvalue()


def test_a_terminal_of_80_columns_has_a_size_in_a_line_with_its_time_and_speedup(results):
    text = said(results, "target", 80)
    lines = text.splitlines()
    start = lines.index("To a loss of 0.5")
    heading, _, one, two, four = lines[start + 1 : start + 6]
    assert heading.split() == ["case", "ranks", "reached", "steps", "s", "[95", "%]", "speedup", "[95", "%]"]
    assert one.split() == ["ddp", "1", "10/10", "45", "0.855", "[0.804,", "0.905]", "baseline"]
    assert two.split() == ["ddp", "2", "9/10", "40", "0.604", "[0.553,", "0.655]", "1.41", "[1.28,", "1.57]"]
    assert four.split() == ["ddp", "4", "5/10"]
    assert max(map(len, lines)) <= 80
    words_said = " ".join(text.split())
    assert (
        "ddp on 2 ranks: 1 of 10 runs missed a loss of 0.5; they count as longer than the others"
        in words_said
    )
    assert "ddp on 4 ranks: 5 of 10 runs missed a loss of 0.5; too many for a median time" in words_said
    assert (
        "ddp on 2 ranks takes 0.604 s to a loss of 0.5: 1.41 [1.28, 1.57] times as fast as ddp on 1."
        in words_said
    )


ROW = {
    "case_name": "ddp", "workers": 2, "axis": "ranks", "global_batch": 64, "until_loss": 0.5, "seconds": 12.0,
    "baseline_case": "single", "baseline_workers": 1, "speedup": 1.418, "speedup_lo": None, "speedup_hi": None,
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "ddp on 2 ranks takes 12 s to a loss of 0.5: 1.42 times as fast as single on 1."),
        (
            {"speedup_lo": 0.5, "speedup_hi": 2.5},
            "ddp on 2 ranks takes 12 s to a loss of 0.5: 1.42 (too noisy) times as fast as single on 1.",
        ),
        ({"speedup": None}, "ddp on 2 ranks takes 12 s to a loss of 0.5."),
        ({"speedup": None, "seconds": None}, ""),
    ],
)
def test_a_sentence_says_only_what_is_known(changes, said):
    assert sentence([ROW | changes]) == said


def test_a_session_without_a_target_says_nothing_of_it(results):
    assert "To a loss" not in said(results, "plain", 80)
    assert "time_to_target" not in summary.answer(results, "plain")
    assert section_of(contents_of(results, "plain")["plain"], "target") == ""


def test_the_page_has_a_sentence_and_a_table(results):
    content = section_of(contents_of(results, "target")["target"], "target")
    assert "ddp on 2 ranks takes 0.604 s to a loss of 0.5: 1.41 [1.28, 1.57] times as fast as" in words(
        content
    )
    rows = rows_of(content)
    assert [row.split()[:5] for row in rows[1:4]] == [
        ["ddp", "1x1", "10", "of", "10"], ["ddp", "1x2", "9", "of", "10"], ["ddp", "1x4", "5", "of", "10"],
    ]  # fmt: skip
    assert rows[1].endswith("baseline")
    assert rows[2].endswith("1.41× [1.28, 1.57]")


def test_json_has_the_rows_and_latex_a_table_of_them(results):
    rows = summary.answer(results, "target")["time_to_target"]
    assert [(row["workers"], row["missed"]) for row in rows] == [(1, 0), (2, 1), (4, 5)]
    json.dumps(rows, allow_nan=False)
    done = CliRunner().invoke(
        export, ["target", "--results", str(results), "--format", "latex", "--view", "time_to_target"]
    )
    assert done.exit_code == 0, done.output
    assert "\\begin{tabular}" in done.output
    assert done.output.count("\\texttt{ddp} & ") == 3
    assert "missed a loss of 0.5" in done.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["plain", "--format", "latex", "--view", "time_to_target"],
            "no run of the session was to reach a target",
        ),
        (["target", "--format", "latex", "--view", "scaling"], "--view is for csv and json, not for latex"),
        (
            ["target", "--format", "svg", "--view", "time_to_target"],
            "--view is for csv and json, not for svg",
        ),
    ],
)
def test_other_tables_and_sessions_without_a_target_are_refused(results, arguments, said):
    done = CliRunner().invoke(export, [*arguments, "--results", str(results)])
    assert done.exit_code != 0
    assert said in f"{done.output} {done.exception}"
