"""Time to a target, as terminal, page and exports show it."""

from __future__ import annotations

import io
import json

import pytest
from click.testing import CliRunner
from rich.console import Console

from analysis import summary
from analysis.report.charts import all_charts
from analysis.report.drawing.chart import drawing, specification
from analysis.wording.target import efficiency
from bench.cli.export import command as export
from tests.factory import Case, make_session
from tests.unit.report.conftest import contents_of, section_of
from tests.unit.report.test_session_page import rows_of, words

SETTINGS = {
    "scaling": "weak", "repeats": 4, "warmup": 2, "steps": 198, "validate_every": 10, "until_loss": 0.5,
    "setup_s": 0.4, "validation_ms": 50.0,
}  # fmt: skip


def steps(*sizes):
    """Steps to the target of each repeat, for each size in turn; null: missed."""
    return {(2**place, repeat): step for place, size in enumerate(sizes) for repeat, step in enumerate(size)}


def write_sessions(results):
    """`target`: two workers reach the target, half of the runs of four miss it. `plain` has no target."""
    target_step = steps([40, 50, 40, 50], [40, 40, 50, 40], [60, None, None, 50])
    make_session(
        results,
        [Case(name="ddp", step_ms={1: 10.0, 2: 12.5, 4: 14.0}, target_step=target_step, **SETTINGS)],
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


def test_a_terminal_of_80_columns_has_a_size_in_a_line_with_each_factor_and_their_product(results):
    text = said(results, "target", 80)
    lines = text.splitlines()
    start = lines.index("To a loss of 0.5")
    heading, _, one, two, four = lines[start + 1 : start + 6]
    assert heading.split()[:4] == ["case", "ranks", "examples", "s"]
    assert "efficiency %" in heading
    assert one.split()[-4:] == ["1.00", "1.00", "1.00", "100"]
    assert "0.800" in two
    assert "≥" in four
    assert "≤" in four
    assert max(map(len, lines)) <= 80
    missed = (
        "ddp on 4 ranks: 2 of 4 runs missed a loss of 0.5; too many for an estimate, so only an end is known"
    )
    assert missed in " ".join(text.split())


def test_an_interval_that_says_nothing_follows_the_percent_sign():
    row = {
        "is_baseline": False,
        "efficiency": 0.418,
        "efficiency_lo": 0.1,
        "efficiency_hi": 1.9,
        "bound": None,
    }
    assert efficiency(row) == "41.8 % too noisy"
    assert efficiency({**row, "efficiency_lo": 0.4, "efficiency_hi": 0.44}) == "41.8 % [40.0, 44.0]"


def test_a_session_without_a_target_says_nothing_of_it(results):
    assert "To a loss" not in said(results, "plain", 80)
    assert "target_efficiency" not in summary.answer(results, "plain")
    assert section_of(contents_of(results, "plain")["plain"], "target") == ""


def test_the_page_has_a_sentence_a_table_and_a_chart(results):
    contents = contents_of(results, "target")["target"]
    content = section_of(contents, "target")
    shown = words(content)
    assert "ddp on 4 ranks reaches a loss of 0.5 with an efficiency of ≤" in shown
    rows = rows_of(content)
    assert [row.split()[:5] for row in rows[1:4]] == [
        ["ddp", "1x1", "4", "of", "4"], ["ddp", "1x2", "4", "of", "4"], ["ddp", "1x4", "2", "of", "4"],
    ]  # fmt: skip
    chart = contents.charts["target_factors"]
    known = {(row["workers"], row["part"]): row["known"] for row in chart.to_dicts()}
    assert known[2, "efficiency to the target"] == "estimate"
    assert known[4, "efficiency to the target"] == known[4, "progress per example"] == "at most"
    assert known[4, "throughput per worker"] == "estimate"
    drawn = drawing(all_charts()["target_factors"], chart, contents.cases)
    assert json.dumps([specification(view) for view in drawn.views.values()])


def test_json_has_the_rows_and_latex_a_table_of_them(results):
    rows = summary.answer(results, "target")["target_efficiency"]
    assert [(row["workers"], row["bound"]) for row in rows] == [(1, None), (2, None), (4, "at most")]
    json.dumps(rows, allow_nan=False)
    done = CliRunner().invoke(
        export, ["target", "--results", str(results), "--format", "latex", "--view", "target_efficiency"]
    )
    assert done.exit_code == 0, done.output
    assert "\\begin{tabular}" in done.output
    assert done.output.count("\\texttt{ddp} & ") == 3
    assert "missed a loss of 0.5" in done.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["plain", "--format", "latex", "--view", "target_efficiency"],
            "no run of the session was to reach a target",
        ),
        (["target", "--format", "latex", "--view", "scaling"], "--view is for csv and json, not for latex"),
        (
            ["target", "--format", "svg", "--view", "target_efficiency"],
            "--view is for csv and json, not for svg",
        ),
    ],
)
def test_other_tables_and_sessions_without_a_target_are_refused(results, arguments, said):
    done = CliRunner().invoke(export, [*arguments, "--results", str(results)])
    assert done.exit_code != 0
    assert said in f"{done.output} {done.exception}"
