"""JSON inside a page, and the columns that it carries."""

from __future__ import annotations

import json

import polars as pl

from analysis.report.html.embedding import columns, script_json


def test_json_can_neither_end_its_script_nor_begin_a_comment():
    written = script_json({"name": "</script><!--&\u2028\u2029"})
    assert written == '{"name":"\\u003c/script\\u003e\\u003c!--\\u0026\\u2028\\u2029"}'
    assert json.loads(written) == {"name": "</script><!--&\u2028\u2029"}


def test_what_is_not_finite_becomes_null():
    assert (
        script_json([1.5, float("nan"), float("inf"), {"x": float("-inf")}]) == '[1.5,null,null,{"x":null}]'
    )


def test_text_that_repeats_stands_once():
    rows = pl.DataFrame({"case_name": ["b", "a", "b", None], "n": [1, 2, 3, 4]})
    assert columns(rows) == {"case_name": {"values": ["b", "a"], "codes": [0, 1, 0, None]}, "n": [1, 2, 3, 4]}


def test_numbers_keep_six_significant_digits():
    rows = pl.DataFrame({"x": [1234567.89, 0.000123456789, 2.0, float("nan"), None]})
    assert columns(rows) == {"x": [1234570, 0.000123457, 2, None, None]}


def test_values_that_follow_each_other_unchanged_stand_once():
    rows = pl.DataFrame({"case_name": ["b"] * 5 + ["a"] * 5, "n": [8] * 10, "x": [1.5] * 9 + [None]})
    assert columns(rows) == {
        "case_name": {"values": ["b", "a"], "codes": {"items": [0, 1], "lengths": [5, 5]}},
        "n": {"items": [8], "lengths": [10]},
        "x": {"items": [1.5, None], "lengths": [9, 1]},
    }
