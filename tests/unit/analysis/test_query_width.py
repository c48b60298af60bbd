"""`bench sql` on a terminal: tables are cut to its width and say so; --full and a pipe show everything."""

from __future__ import annotations

import io
import re
from decimal import Decimal
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from analysis.sql.output import write_table
from analysis.tables.text_layout import cut_layout, layout, query_table

WIDE = (
    "SELECT 'a_name_' || i AS name, repeat('word ', 30) AS prose, 12345.5 * i AS number, i AS small, "
    + ", ".join(f"'text {n}' AS column_{n}" for n in range(20))
    + " FROM range(1, 4) t(i)"
)


def shown(query: str, **options: Any) -> list[str]:
    stream = io.BytesIO()
    write_table(duckdb.connect().sql(query), stream, **options)
    return stream.getvalue().decode().splitlines()


def test_a_table_that_is_too_wide_is_cut_and_says_what_is_missing() -> None:
    lines = shown(WIDE, width=80)
    assert max(map(cell_len, lines)) <= 80
    assert lines[0].split()[:4] == ["name", "prose", "number", "small"]
    shown_columns = len(lines[0].split())
    assert (
        lines[-1]
        == f"(long texts are cut and {24 - shown_columns} more columns are not shown: --full shows all)"
    )
    assert shown_columns < 24
    assert re.search(r"  (word )+\w*…  ", lines[2])


def test_a_table_that_fits_is_whole() -> None:
    lines = shown("SELECT 1 AS a, 'some text' AS b", width=80)
    assert lines == ["a  b", "-  ---------", "1  some text"]


@pytest.mark.parametrize("options", [{"width": None}, {"width": 80, "full": True}])
def test_full_and_a_pipe_show_everything(options: dict[str, Any]) -> None:
    text = " ".join(shown(WIDE, **options))
    assert text.count("word") == 90
    assert all(f"column_{n}" in text for n in range(20))
    assert "--full" not in text


def test_a_pipe_has_a_line_for_each_row_however_wide() -> None:
    assert len(shown(WIDE)) == 2 + 3


def test_full_wraps_a_long_value_below_its_beginning() -> None:
    lines = shown(WIDE, width=80, full=True)
    assert max(map(cell_len, lines)) <= 80
    place = next(place for place, line in enumerate(lines) if line.startswith("prose"))
    assert lines[place + 1].startswith("           word word")


def test_numbers_are_aligned_right_and_never_cut() -> None:
    rows = [("x" * 200, 1, 0.5, Decimal("1.25"), 123456789012), ("y", 20_000, None, Decimal("10.50"), 1)]
    text = cut_layout(query_table(["long", "int", "float", "decimal", "big"], rows), 60)
    first, second = text.splitlines()[2:4]
    assert re.search(r"…x+       1    0\.5     1\.25 +123,456,789,012$", first)
    assert re.search(r"^y +20,000 +10\.50 +1$", second)
    assert len(first) == len(second) == 60


def test_names_of_rows_keep_their_ends() -> None:
    rows = [(f"20261121T014925Z-a_suite_with_a_long_name-{end}", "b" * 40) for end in ("3f9a", "77c1")]
    lines = cut_layout(query_table(["session_id", "other"], rows), 60).splitlines()
    assert ["3f9a" in lines[2], "77c1" in lines[3]] == [True, True]


VALUES = st.none() | st.integers() | st.floats() | st.text("ab 語\n", max_size=90) | st.just("語" * 30)


@given(
    rows=st.integers(1, 12).flatmap(
        lambda columns: st.lists(st.lists(VALUES, min_size=columns, max_size=columns), min_size=1, max_size=4)
    ),
    width=st.integers(30, 120),
)
def test_no_line_is_wider_than_the_terminal(rows: list[list[Any]], width: int) -> None:
    table = query_table([f"c{n}" for n in range(len(rows[0]))], rows)
    text = cut_layout(table, width)
    lines = text.split("\n")
    assert max(map(cell_len, lines[:-1])) <= width
    assert lines[-1].endswith("--full shows all)") or text == layout(table, None)
