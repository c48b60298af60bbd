"""Speedup, efficiency and the ends of their intervals are the same in every relation, on the page, in the terminal and
in exports, however many rounds there are; so is what is shown in place of an interval."""

from __future__ import annotations

import csv
import html
import io
import json
import math
import re

import numpy as np
import pytest
from rich.console import Console

from analysis import summary
from analysis.compare import render
from analysis.compare.comparison import compare
from analysis.database import connections
from analysis.export.export import Wanted, export
from analysis.loading.load import load
from analysis.report import named_queries
from tests.factory import Case, make_session
from tests.unit.analysis.conftest import fetch
from tests.unit.report.conftest import contents_of, section_of

SIZES = (1, 2, 4)
RANGE = "In parentheses: the range of the rounds, which are too few for an interval."
FIGURES = [f"{figure}{end}" for figure in ("speedup", "efficiency") for end in ("", "_lo", "_hi")]


def times(seed, repeats, noise=0.06):
    """Step times of every repeat of every size."""
    draws = np.random.default_rng(seed)
    scales = {1: 100.0, 2: 55.0, 4: 31.0}
    return {n: [scales[n] * math.exp(noise * draws.standard_normal()) for _ in range(repeats)] for n in SIZES}


def case(name, seed, repeats, **more):
    return Case(name=name, step_ms=times(seed, repeats), repeats=repeats, **more)


def cases(seed):
    lost = {(1, 0): "failed", (2, 3): "failed", (4, 1): "failed"}
    return [
        case("one", seed, 1),
        case("two", seed + 1, 2),
        case("three", seed + 2, 3),
        case("seven", seed + 3, 7),
        case("gaps", seed + 4, 7, statuses=lost),
        case("apart", seed + 5, 4, rounds=False),
        case("weak", seed + 6, 6, scaling="weak", batch=64),
        case("other", seed + 7, 6, baseline="seven"),
        case("seven_apart", seed + 8, 7, rounds=False),
    ]


SESSIONS = {"first": 10, "second": 20, "exact": None}
"""Session -> seed of its times; none: every repeat of a size takes the same time."""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ratios")
    for session, seed in SESSIONS.items():
        made = (
            cases(seed) if seed is not None else [Case(name="flat", step_ms={1: 100.0, 2: 60.0}, repeats=6)]
        )
        make_session(folder, made, session_id=session, suite=session)
    assert load(folder).problems == ()
    return folder


@pytest.fixture(scope="module")
def scaling(results):
    """Session -> (case, placement) -> row of `scaling`."""
    with connections.reader(results) as connection:
        rows = fetch(connection, "FROM scaling")
    return {
        session: {(row["case_name"], row["placement"]): row for row in rows if row["session_id"] == session}
        for session in SESSIONS
    }


@pytest.fixture(scope="module")
def page(results):
    """Session -> the section of its page with all numbers."""
    contents = contents_of(results, *SESSIONS)
    return {session: section_of(contents[session], "summary") for session in SESSIONS}


@pytest.fixture(scope="module")
def printed(results):
    """Session -> the output of `bench summary`."""

    def show(session):
        summary.show(results, session, out=Console(file=(text := io.StringIO()), width=240))
        return text.getvalue()

    return {session: show(session) for session in SESSIONS}


@pytest.fixture(scope="module")
def exported(results):
    """`exported(session, form)` is the text that `bench export` writes."""

    def text_of(session, form):
        export(results, session, Wanted(form=form), stream := io.BytesIO())
        return stream.getvalue().decode("utf-8")

    return text_of


def compare_command(results, baseline, candidate, out):
    """The comparison, and what `bench compare` prints into `out`."""
    with connections.reader(results) as connection:
        comparison = compare(connection, baseline, candidate, margin=0.02, max_regression=0.05)
    render.show(comparison, Console(file=out, width=240))
    return comparison


def text_of(markup):
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", markup)).split())


def cells_of(section):
    """(case, placement) -> heading -> the text of the cell, from the table of a page."""
    table = section.partition("<table")[2].partition("</table>")[0]
    headings = [text_of(cell) for cell in re.findall(r"<th.*?</th>", table.partition("</thead>")[0], re.S)]
    found, name = {}, ""
    for row in re.findall(r"<tr.*?</tr>", table.partition("</thead>")[2], re.S):
        cells = [text_of(cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.S)]
        if len(cells) == 1:
            name = cells[0].partition(" ")[0]
        else:
            found[name, cells[0]] = dict(zip(headings, cells, strict=True))
    return found


def numbers_in(text):
    return [float(number.replace(",", "")) for number in re.findall(r"[\d.,]*\d", text)]


def digits_of(text):
    return len(re.search(r"[\d,]+\.?(\d*)", text)[1])


SAME = {
    "scaling": ("placement", FIGURES),
    "strong_scaling": ("placement", FIGURES),
    "weak_scaling": ("placement", FIGURES),
    "history": ("placement", FIGURES[3:]),
    "history_points": ("placement", FIGURES[3:]),
    "efficiency_loss": ("placement", FIGURES[3:]),
    "law_points": ("workers", ["measured_speedup"]),
    "scaling_prediction": ("workers", ["measured_speedup"]),
}
"""Relation -> the column that names the size, and its figures that are those of `scaling`."""
OTHER = {"time_to_target", "what_if", "communication_prediction"}
"""Relations whose speedup is that of something else: a target, another network, a prediction."""


def test_every_relation_has_the_figures_of_scaling(results, scaling):
    with connections.reader(results) as connection:
        having = fetch(
            connection,
            "SELECT DISTINCT table_name FROM information_schema.columns "
            "WHERE regexp_matches(column_name, '^(measured_)?(speedup|efficiency)(_lo|_hi)?$')",
        )
        assert {row["table_name"] for row in having} == {*SAME, *OTHER}
        found = {name: fetch(connection, f"FROM {name}") for name in SAME}
    compared = 0
    for name, (size, figures) in SAME.items():
        for row in found[name]:
            if row.get("kind") == "predicted":
                assert row["measured_speedup"] is None
                continue
            (point,) = (
                point
                for point in scaling[row["session_id"]].values()
                if (point["case_name"], point[size]) == (row["case_name"], row[size])
            )
            for figure in figures:
                assert row[figure] == point[figure.removeprefix("measured_")], (
                    name,
                    row["case_name"],
                    row[size],
                )
                compared += 1
    assert compared > 500


def test_efficiency_and_its_ends_are_speedup_over_workers(scaling):
    rows = [row for points in scaling.values() for row in points.values()]
    assert {row["rounds"] for row in rows} == {None, 3, 5, 6, 7}
    for row in rows:
        for end in ("", "_lo", "_hi"):
            speedup, efficiency = row[f"speedup{end}"], row[f"efficiency{end}"]
            if speedup is None:
                assert efficiency is None
            else:
                assert efficiency == pytest.approx(speedup / row["workers"], rel=1e-12)
        if row["speedup_lo"] is not None:
            assert row["speedup_lo"] <= row["speedup"] <= row["speedup_hi"]


@pytest.mark.parametrize("session", SESSIONS)
@pytest.mark.parametrize("name", ["speedup", "efficiency", "summary", "compare_curves", "losses"])
def test_charts_and_tables_of_the_page_have_the_figures_of_scaling(results, scaling, session, name):
    with connections.reader(results) as connection:
        if name == "compare_curves":
            rows = named_queries.frame(connection, name, session_ids=[session]).to_dicts()
        else:
            rows = named_queries.frame(connection, name, session).to_dicts()
    assert rows
    for row in rows:
        point = scaling[session][row["case_name"], row["placement"]]
        assert {figure: row[figure] for figure in FIGURES if figure in row} == {
            figure: point[figure] for figure in FIGURES if figure in row
        }


@pytest.mark.parametrize("session", SESSIONS)
def test_the_page_shows_the_value_and_both_ends_or_the_range_of_the_rounds(page, scaling, session):
    shown = cells_of(page[session])
    assert shown.keys() == scaling[session].keys()
    for place, row in scaling[session].items():
        for figure, factor in (("speedup", 1), ("efficiency", 100)):
            text = shown[place][f"{figure} [95 %]"]
            ends = [row[f"{figure}_lo"], row[f"{figure}_hi"]]
            if row["is_baseline"]:
                assert numbers_in(text) == [factor]
                continue
            scale = 1 if figure == "speedup" else 1 / row["workers"]
            is_range = ends[0] is None and row["speedup_min"] is not None
            assert is_range == (place[0] == "two")
            if is_range:
                ends = [scale * row["speedup_min"], scale * row["speedup_max"]]
            values = [factor * value for value in (row[figure], *ends) if value is not None]
            assert numbers_in(text) == pytest.approx(values, abs=0.5000001 * 10 ** -digits_of(text))
            assert ("(" in text, "[" in text) == (is_range, row["speedup_lo"] is not None)


@pytest.mark.parametrize("session", SESSIONS)
def test_terminal_and_exported_tables_show_what_the_page_shows(page, printed, exported, scaling, session):
    lines = [" ".join(line.split()) for line in printed[session].splitlines()]
    table = [
        [cell.strip() for cell in line.split("|")] for line in exported(session, "markdown").splitlines()
    ]
    latex = exported(session, "latex")
    for (name, placement), shown in cells_of(page[session]).items():
        row = scaling[session][name, placement]
        speedup = shown["speedup [95 %]"].replace("×", "")
        efficiency = shown["efficiency [95 %]"]
        verdict = shown["verdict"].partition(" 6 of")[0].partition(" 5 of")[0]
        (line,) = (line for line in lines if line.startswith(f"{name} {row['world_size']} "))
        assert f" {speedup} {efficiency} {verdict}" in line
        (cells,) = (cells for cells in table if cells[1:3] == [f"`{name}`", str(row["world_size"])])
        assert speedup.partition(" ")[0] in cells
        assert efficiency in cells
        assert any(cell.startswith(verdict) for cell in cells)
        assert efficiency.replace("%", "\\%").replace(" [", " {[}") in latex.replace("~", " ") or (
            efficiency.replace("%", "\\%") in latex.replace("~", " ")
        )


@pytest.mark.parametrize("session", SESSIONS)
def test_exported_rows_have_every_digit(exported, scaling, session):
    rows = json.loads(exported(session, "json"))
    lines = csv.DictReader(io.StringIO(exported(session, "csv")))
    for row, line in zip(rows, lines, strict=True):
        point = scaling[session][row["case_name"], row["placement"]]
        for figure in (*FIGURES, "speedup_min", "speedup_max"):
            assert row[figure] == point[figure]
            assert (float(line[figure]) if line[figure] else None) == point[figure]
        assert row["verdict"] == point["verdict"] == (line["verdict"] or None)


@pytest.mark.parametrize("session", SESSIONS)
def test_a_speedup_that_is_not_the_quotient_of_the_throughputs_is_said_to_be_none(
    page, printed, exported, scaling, session
):
    """In `exact`, every round has the same ratio."""
    apart = [
        row
        for row in scaling[session].values()
        if row["rounds"] is not None
        and abs(
            row["speedup"] / row["baseline_workers"] / (row["throughput"] / row["baseline_throughput"]) - 1
        )
        > 0.02
    ]
    assert bool(apart) == (session != "exact")
    for text in (text_of(page[session]), printed[session], exported(session, "markdown")):
        assert ("Speedup is the median or mean of the rounds' ratios: for" in text) == bool(apart)
        assert ("Speedup is the ratio of the mean runs: for" in text) == (session != "exact")
        assert (RANGE in text) == (session != "exact")


def test_two_cases_compared_have_the_ratio_of_their_speedup(results, scaling):
    """`other` has the smallest size of `seven` as its base line, so there its speedup is their ratio."""
    show = io.StringIO()
    comparison = compare_command(results, "first:seven", "first:other", show)
    (row,) = [row for row in comparison.rows if row["workers"] == 1]
    point = scaling["first"]["other", "1x1"]
    assert row["blocks"] == point["rounds"] == 6
    assert (row["p_value"] <= 0.05) == (row["ratio_lo"] > 1 or row["ratio_hi"] < 1)
    for end in ("", "_lo", "_hi"):
        assert row[f"ratio{end}"] == pytest.approx(point[f"speedup{end}"], rel=1e-12)
    assert "ratio: the median of the rounds' ratios" in show.getvalue()


def test_a_size_without_an_interval_says_why(scaling):
    verdicts = {
        name: {row["verdict"] for (case_name, _), row in scaling["first"].items() if case_name == name}
        for name in ("one", "two")
    }
    assert verdicts == {"one": {None, "one repeat"}, "two": {None, "undecided"}}
