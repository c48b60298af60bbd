"""Sessions whose intervals span more than a factor of four, on a machine that was busy with other work: no output shows
such an interval, and none takes the noise for a cause."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from rich.console import Console

from analysis import history, summary
from analysis.compare.comparison import compare
from analysis.compare.render import as_json, markdown
from analysis.compare.wording import notes, sentence
from analysis.database import connections
from analysis.database.rows import fetch_rows
from analysis.diagnosis import findings
from analysis.diagnosis.advice import first_advice
from analysis.export import content
from analysis.report import write
from analysis.wording import numbers
from tests.factory import BEGAN, Case, make_session

SIDES = {
    "before": {1: [8.0, 9.0, 8.5], 2: [4.0, 6.0, 5.0]},
    "after": {1: [200.0, 100.0, 150.0], 2: [40.0, 90.0, 60.0]},
}


def write_sessions(results):
    """The sessions `before` and `after` of the suite noisy on a busy machine; `quiet-before` and `quiet-after` of the
    suite calm, with the same times on a machine without other work; `busy` and `quiet`, whose times hardly vary."""
    for suite, begin, percent in (("noisy", "", 33.0), ("calm", "quiet-", 5.0)):
        for day, (name, step_ms) in enumerate(SIDES.items()):
            case = Case(name="ddp", step_ms=step_ms, other_cpu_pct=percent)
            began = BEGAN + timedelta(days=day)
            make_session(results, [case], session_id=begin + name, suite=suite, created_at=began)
    for name, percent in (("busy", 33.0), ("quiet", 5.0)):
        steps = {1: [10.0, 10.1, 10.2], 2: [15.0, 15.1, 15.2]}
        case = Case(name="ddp", step_ms=steps, other_cpu_pct=percent)
        make_session(results, [case], session_id=name, suite="steady")


@pytest.fixture(scope="module")
def folder(shared):
    return shared


@pytest.fixture(scope="module")
def found(folder):
    with connections.reader(folder) as connection:
        rows = fetch_rows(connection, "FROM diagnosis WHERE session_id = 'after'")
    return {row["finding"]: row for row in rows}


def shown(function, *arguments, **options):
    out = Console(width=1_000, color_system=None, force_terminal=False)
    with out.capture() as captured:
        function(*arguments, out=out, **options)
    return captured.get()


def test_the_limit_is_the_same_in_sql(folder):
    with connections.reader(folder) as connection:
        ((at, beyond),) = connection.execute(
            "SELECT is_too_wide(1.0, $1), is_too_wide(1.0, $1 + 0.001)", [numbers.WIDEST]
        ).fetchall()
    assert (at, beyond) == (False, True)


def test_no_sentence_and_no_cell_has_such_an_interval(folder, found):
    texts = [row[name] for row in found.values() for name in ("evidence", "advice")]
    texts += [shown(summary.show, folder, "after"), shown(history.show, folder, "noisy", last=9)]
    for text in texts:
        for low, high in re.findall(r"\[([\d.,]+), ([\d.,]+)\]", text):
            assert float(high.replace(",", "")) <= 4.1 * float(low.replace(",", "")), text
    assert found["undecided"]["evidence"].startswith("efficiency may be anything from poor to ")


def test_nothing_explains_a_loss_that_the_repeats_do_not_show(found):
    assert "unexplained_loss" not in found
    assert found["noisy"]["options"] == found["undecided"]["options"], "one number of repeats for both"


def test_a_regression_on_a_busy_machine_is_likely_and_advises_a_quiet_one(found):
    row = found["regression"]
    assert row["certainty"] == "likely"
    assert ": too noisy to say how much below the level of session 1, since session 2; " in row["evidence"]
    assert row["evidence"].endswith("; the machine was busy with other work in both sessions")
    assert row["advice"].startswith("Measure again on a quiet machine before you look for a cause")


def test_the_history_says_that_the_machine_was_busy(folder):
    *_, headline = shown(history.show, folder, "noisy", last=9).splitlines()
    assert headline == (
        "ddp 1x1, ddp 1x2 train fewer examples/s (too noisy to tell how many) than in session 1; the machine was "
        "busy with other work in sessions 1 and 2."
    )


def test_a_comparison_says_so_too(folder):
    with connections.reader(folder) as connection:
        both = compare(connection, "before", "after", margin=0.02, max_regression=0.05)
    assert "after, before: measured on a busy machine, so a difference may come from the other work" in list(
        notes(both)
    )
    assert sentence(both).startswith("Regression beyond 5 %: ddp 1x1 (too noisy to tell how much)")
    assert "`after`, `before`: measured on a busy machine" in markdown(both)
    assert as_json(both)["busy"] == ["after", "before"]


def test_an_exported_table_says_so_too(folder):
    with connections.reader(folder) as connection:
        said = list(content.read(connection, "after").notes())
    assert "Measured on a busy machine: times may include waiting for other processes." in said


def test_without_other_work_nothing_says_that_the_machine_was_busy(folder):
    with connections.reader(folder) as connection:
        both = compare(connection, "quiet-before", "quiet-after", margin=0.02, max_regression=0.05)
        said = list(content.read(connection, "quiet-after").notes())
        ((evidence,),) = connection.execute(
            "SELECT evidence FROM diagnosis WHERE finding = 'regression' AND session_id = 'quiet-after'"
        ).fetchall()
    texts = [
        *notes(both),
        *said,
        evidence,
        shown(history.show, folder, "calm", last=9),
        shown(summary.show, folder, "quiet-after"),
    ]
    assert not [text for text in texts if "busy" in text]


def test_pages_show_no_such_interval_and_say_that_the_machine_was_busy(folder, tmp_path):
    write(folder, ["before", "after"], tmp_path, compare=True)
    for path in [*tmp_path.glob("after.html"), *tmp_path.glob("history-*"), *tmp_path.glob("compare-*")]:
        page = path.read_text("utf-8")
        visible = re.sub(r"<(script|style|svg).*?</\1>", "", page, flags=re.S)
        assert "busy" in visible
        for low, high in re.findall(
            r'class="interval">\[([\d.,]+),\s?([\d.,]+)\]', visible.replace("\u00a0", " ")
        ):
            assert float(high.replace(",", "")) <= 4.1 * float(low.replace(",", "")), path.name


def test_on_a_busy_machine_what_costs_time_is_likely_and_the_other_work_comes_first(folder):
    with connections.reader(folder) as connection:
        told = {name: findings.read(connection, name) for name in ("busy", "quiet")}
        points = fetch_rows(connection, "FROM scaling WHERE session_id = 'busy'")
    sure = {
        name: {row["certainty"] for row in rows if row["finding"] == "negative_scaling"}
        for name, rows in told.items()
    }
    assert sure == {"busy": {"likely"}, "quiet": {"shown"}}
    assert first_advice(told["busy"], points)[0].worst["finding"] == "busy_machine"
