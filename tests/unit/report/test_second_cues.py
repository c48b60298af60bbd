"""Two colours with different meanings in one picture differ for every kind of vision, or something else differs too."""

from __future__ import annotations

import math
import re
from itertools import combinations

import pytest

from analysis.report.charts import all_charts
from analysis.report.drawing import theme
from analysis.report.drawing.chart import drawing, specification
from analysis.report.pages.session import session_page
from analysis.report.sections import answer_table
from tests.unit.report.conftest import GPUS, LAWS, MACHINE, SCALING, contents_of
from tests.unit.report.vision import DARK, EYES, LIGHT, lab, page_colours

APART = 10
"""Least distance in CIELAB: about four times the smallest that people notice side by side, 2.3 (Mahy, Van Eycken and
Oosterlinck 1994), because the marks are small and not side by side."""
CUES = ("shape", "strokeDash", "size", "y", "x", "row", "column", "facet", "text", "opacity")
"""Channels that tell the values of a field apart without colour."""
VERDICTS = ("good", "fair", "bad")
"""Colours of verdicts and of severities."""


def closest(colours, names):
    """The smallest distance between two of these colours, over modes and eyes."""
    return min(
        (math.dist(*(lab(colours[mode][name], eye) for name in pair)), mode, eye, pair)
        for mode in (LIGHT, DARK)
        for eye in EYES
        for pair in combinations(names, 2)
    )


def units_of(spec, facet=()):
    """Views with a mark, each with the fields that its panels have."""
    fields = (*facet, *(found["field"] for found in [spec.get("facet", {})] if "field" in found))
    if "mark" in spec:
        yield spec, fields
    for inner in [spec["spec"]] if "spec" in spec else spec.get("layer", []):
        yield from units_of(inner, fields)


def scales(spec):
    """(field, colours of the page) -> the other channels with that field, for every colour scale of a chart."""
    found = {}
    for unit, panels in units_of(spec):
        encodings = unit.get("encoding", {})
        for channel in ("color", "fill", "stroke"):
            encoding = encodings.get(channel, {})
            colours = (encoding.get("scale") or {}).get("range", ())
            if "field" in encoding and len(set(colours)) > 1:
                field = encoding["field"]
                cues = {name for name in CUES if encodings.get(name, {}).get("field") == field}
                cues |= {"facet"} if field in panels else set()
                found.setdefault((field, tuple(dict.fromkeys(colours))), set()).update(cues)
    return found


@pytest.fixture(scope="module")
def pictures(results, fitted, measured):
    """(chart, field, colours) -> second cues."""
    read = {**contents_of(results, SCALING, GPUS), LAWS: fitted, MACHINE: measured}
    found = {}
    for contents in read.values():
        for name, chart in all_charts().items():
            if contents.charts[name].is_empty():
                continue
            for view in drawing(chart, contents.charts[name], contents.cases).views.values():
                for (field, colours), cues in scales(specification(view)).items():
                    found.setdefault((name, field, colours), set()).update(cues)
    return found


def test_no_chart_needs_colour_vision(pictures):
    page = page_colours()
    alike = {}
    for (chart, field, colours), cues in pictures.items():
        distance, *where = closest(page, [colour[6:-1] for colour in colours])
        if distance < APART and not cues:
            alike[chart, field] = (round(distance, 1), *where)
    assert alike == {}
    assert len({chart for chart, _, _ in pictures}) > 15


def test_shades_for_sizes_need_no_second_cue():
    assert closest(page_colours(), [f"s{n}" for n in range(1, theme.RAMP + 1)])[0] >= APART


def test_a_verdict_has_a_word_and_a_zone_its_place_besides_their_colours(results):
    """`fair` and `bad` look alike to some."""
    assert closest(page_colours(), ["good", "bad"])[0] >= APART
    page = session_page(contents_of(results, SCALING)[SCALING], "")
    words = re.findall(r'<span class="label [a-z]+"><bdi>(.*?)</bdi></span>', page)
    assert len(words) == page.count('<span class="label ') > 5
    assert all(words)
    drawn = answer_table._zones()
    assert {zone["tone"] for zone in drawn} == set(VERDICTS)
    assert len({zone["start"] for zone in drawn}) == len({zone["name"] for zone in drawn}) == len(drawn)
