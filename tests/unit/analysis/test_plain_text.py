"""Values as people read them."""

from __future__ import annotations

import pytest

from analysis.wording.plain_text import cell, number, printable


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (True, "true"),
        (7, "7"),
        (9_999, "9999"),
        (95_230_000, "95,230,000"),
        (0.0, "0"),
        (0.1 + 0.2, "0.3"),
        (0.000123456789, "0.000123457"),
        (1234567.0, "1,234,567"),
        (362.45, "362.45"),
        (1e-9, "1e-09"),
        (2.5e20, "2.5e+20"),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (-1_234.5678, "-1234.57"),
        ("name", "name"),
        ([1, None], "[1, None]"),
    ],
)
def test_a_cell_is_readable(value, text):
    assert cell(value) == text


def test_a_column_of_figures_can_keep_its_zeros():
    assert [number(value, 4, strip=False) for value in (10, 58.29, 0.3)] == ["10.00", "58.29", "0.3000"]


def test_untrusted_text_on_a_terminal_is_one_line_without_commands():
    assert printable("a\x1b[31mb\nc") == "a\\x1b[31mb\\nc"
