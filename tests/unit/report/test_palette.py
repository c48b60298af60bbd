"""Colours of lines and marks differ from the paper, and from each other for every kind of vision."""

from __future__ import annotations

import math
from itertools import combinations

import polars as pl
import pytest

from analysis.report.drawing import theme
from analysis.report.drawing.chart import case_colour
from tests.unit.report.vision import DARK, EYES, LIGHT, lab, linear, page_colours


@pytest.fixture(scope="module")
def colours():
    return page_colours()


def contrast(one, other):
    """WCAG 2."""
    low, high = sorted(
        0.2126 * red + 0.7152 * green + 0.0722 * blue for red, green, blue in map(linear, (one, other))
    )
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("mode", [LIGHT, DARK])
def test_every_line_has_a_contrast_of_three_to_one_against_the_paper(colours, mode):
    names = [f"c{n}" for n in range(1, theme.CATEGORIES + 1)] + [f"s{n}" for n in range(1, theme.RAMP + 1)]
    found = {name: contrast(colours[mode][name], colours[mode]["paper"]) for name in names}
    assert {name: ratio for name, ratio in found.items() if ratio < 3} == {}


@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize("mode", [LIGHT, DARK])
def test_no_two_cases_look_alike_to_any_eye(colours, mode, eye):
    names = [f"c{n}" for n in range(1, theme.CATEGORIES + 1)]
    distances = {
        pair: math.dist(*(lab(colours[mode][name], eye) for name in pair)) for pair in combinations(names, 2)
    }
    assert min(distances.values()) > 10, min(distances, key=distances.get)


PICTURES = {"phases": theme.PHASES, "lost efficiency": theme.LOSSES, "profile": theme.PROFILE}
PARTS = sorted({colour[6:-1] for picture in PICTURES.values() for colour in picture} - {"n4"})


@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize("mode", [LIGHT, DARK])
@pytest.mark.parametrize("picture", PICTURES)
def test_no_two_parts_of_a_bar_look_alike_to_any_eye(colours, mode, eye, picture):
    names = [colour[6:-1] for colour in PICTURES[picture]]
    distances = {
        pair: math.dist(*(lab(colours[mode][name], eye) for name in pair)) for pair in combinations(names, 2)
    }
    assert min(distances.values()) > 10, min(distances, key=distances.get)


@pytest.mark.parametrize("mode", [LIGHT, DARK])
def test_a_part_of_time_never_looks_like_a_case_or_like_another_part(colours, mode):
    cases = [f"c{n}" for n in range(1, theme.CATEGORIES + 1)]
    pairs = [*combinations(PARTS, 2), *((part, case) for part in PARTS for case in cases)]
    seen = {name: lab(colours[mode][name], "normal") for name in [*PARTS, *cases]}
    distances = {pair: math.dist(seen[pair[0]], seen[pair[1]]) for pair in pairs}
    assert min(distances.values()) > 10, min(distances, key=distances.get)


def test_cases_after_the_eighth_are_grey():
    names = [f"case {number}" for number in range(10)]
    colour = case_colour(pl.DataFrame({"case_name": names}), names).to_dict()
    colours = colour["scale"]["range"]
    assert (len(set(colours[:8])), colours[8:]) == (8, ["var(--muted)"] * 2)
    assert theme.GREY not in colours[:8]
