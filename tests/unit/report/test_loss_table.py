"""The page's table of lost efficiency."""

from __future__ import annotations

import pytest

from analysis.report.charts.efficiency_loss import CHART
from analysis.report.drawing.chart import drawing, specification
from analysis.report.pages.session import sections
from analysis.report.sections.loss_table import MOST_ROWS, losses
from analysis.wording.lost_efficiency import TERMS, name_of
from tests.factory import Case
from tests.unit.analysis.conftest import stored_as
from tests.unit.report.conftest import BROKEN, GPUS, SCALING, section_of
from tests.unit.report.test_charts import encodings, units_of
from tests.unit.report.test_session_page import rows_of, words

TERM_ROW = {
    "case_name": "ddp", "placement": "1x2", "nodes": 1, "ranks_per_node": 2, "threads": 1, "efficiency": 0.6,
    "efficiency_lo": 0.55, "efficiency_hi": 0.65, "verdict_lo": "acceptable", "verdict_hi": "acceptable",
    "known_by": "profiled", "share_lo": None, "share_hi": None,
}  # fmt: skip


def size(placement="1x2", **shares):
    """Rows of one size; terms that are not named are unknown."""
    values = {term: shares.get(term) for term in TERMS}
    rows = []
    for term, said in values.items():
        share, low, high = said if isinstance(said, tuple) else (said, None, None)
        rows.append(
            TERM_ROW
            | {"placement": placement, "nodes": int(placement[0]), "term": term}
            | {"share": share, "share_lo": low, "share_hi": high}
        )
    return rows


def test_a_size_is_one_row_of_the_terms_that_are_known_anywhere():
    rows = rows_of(
        losses([*size(data=(0.02, -0.01, 0.05), communication=(0.4, 0.35, 0.45), remainder=-0.02)])
    )
    assert rows == [
        "case placement known by lost waiting for data exposed communication not explained",
        "ddp 1x2 profiled 40 % [35, 45] 2.0 % [−1.0, 5.0] 40 % [35, 45] −2.0 %",
    ]


def test_what_may_be_nothing_is_pale_as_a_whole():
    shown = losses(size(data=(0.02, -0.01, 0.05), communication=(0.4, 0.35, 0.45)))
    assert (
        '<span class="interval">2.0\u00a0% <span class="interval">[\u22121.0,\u00a05.0]</span></span>'
        in shown
    )
    assert '40\u00a0% <span class="interval">[35,\u00a045]</span>' in shown


def test_where_not_even_a_verdict_can_be_told_nothing_is_said_to_be_lost():
    wide = {"efficiency_lo": 0.2, "efficiency_hi": 1.1, "verdict_lo": "poor", "verdict_hi": "superlinear"}
    shown = losses([*size(data=0.1, remainder=0.3), *(row | wide for row in size("2x2", data=0.1))])
    assert "ddp 2x2: These repeats cannot tell how much was lost there, or to what." in words(shown)
    assert rows_of(shown)[2].startswith("ddp 2x2 profiled 40 % [\u221210, 80] undecided")
    assert "cannot be told" not in losses(size(data=0.1, remainder=0.3))


def test_each_cell_has_the_name_of_its_column_for_a_phone():
    assert 'data-name="exposed communication">' in losses(size(communication=0.4))


def test_every_term_that_is_shown_is_explained_and_its_definition_folded():
    shown, _, folded = losses(size(data=0.1, remainder=0.3)).partition("<details")
    assert "Waiting for data. The next batch was not ready" in words(shown)
    assert "Exposed communication" not in words(shown)
    assert "The time by which waiting for data delays the rank" in words(folded)


def test_what_is_known_to_have_cost_nothing_is_a_sentence_and_no_column():
    shown = losses(size(data=0.3, clocks=(0.0, 0.0, 0.0), imbalance=(0.0, -0.01, 0.01), remainder=0.1))
    assert "Nothing was lost to: lower clocks." in words(shown)
    assert rows_of(shown)[0].endswith("lost waiting for data waiting for slower ranks not explained")


def test_a_size_of_which_only_the_remainder_is_known_has_no_row():
    assert losses(size(remainder=0.4)) == ""
    assert len(rows_of(losses([*size(remainder=0.4), *size("2x2", data=0.4)]))) == 2
    assert losses([]) == ""


def test_of_very_many_sizes_the_first_are_shown():
    many = [
        row | {"case_name": f"c{n}"} for n in range(MOST_ROWS + 5) for row in size(data=0.1, remainder=0.3)
    ]
    shown = losses(many)
    assert len(rows_of(shown)) == 1 + MOST_ROWS
    assert "The first 40 of 45 rows; the CSV has all." in words(shown)


lost = stored_as(
    Case(name="ddp", step_ms={1: 200.0, 2: 150.0}), Case(name="weak", step_ms={1: 9.0}, scaling="weak")
)
"""Two ranks take 25 ms of 100 longer in backward than half of one rank's step."""


@lost
def test_bars_are_made_of_what_was_used_and_the_terms_and_are_as_long_as_the_ranks_time(contents):
    rows = contents.charts["efficiency_loss"]
    assert rows.get_column("label").unique().to_list() == ["ddp 1x2"]
    parts = rows.get_column("part").to_list()
    assert parts[0] == "used"
    assert parts[1:] == [name_of(term) for term in TERMS if name_of(term) in parts]
    assert rows.get_column("share")[0] == pytest.approx(2 / 3)
    assert rows.get_column("share").sum() == pytest.approx(1)
    (view,) = drawing(CHART, rows, contents.cases).views.values()
    (bars,) = units_of(specification(view))
    assert encodings(bars)["color"]["scale"]["domain"] == parts
    assert encodings(bars)["x"]["axis"]["format"] == ".0%"
    assert "datum.share_lo <= 0" in encodings(bars)["fillOpacity"]["condition"]["test"]


@lost
def test_the_section_has_chart_table_and_csv_and_its_line_names_the_largest_part(contents):
    section = section_of(contents, "losses")
    assert (
        section.index('id="efficiency_loss"')
        < section.index("<table")
        < section.index("CSV: lost efficiency")
    )
    (answer,) = (part.answer for part in sections(contents) if part.identifier == "losses")
    assert words(answer).startswith("ddp on 2 ranks: 33 % of the ranks' time was lost, mainly to")


def test_where_nothing_was_compared_there_is_no_such_section(page_of):
    assert 'id="losses"' in page_of[SCALING]
    assert 'id="losses"' in page_of[GPUS]
    assert 'id="losses"' not in page_of[BROKEN]
