"""Colours of lines and marks differ from the paper, and from each other for every kind of vision."""

from __future__ import annotations

import math
import re
from itertools import combinations

import polars as pl
import pytest

from analysis.report.drawing import theme
from analysis.report.drawing.chart import case_colour
from analysis.report.pages.frame import asset

# Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
EYES = {
    "normal": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
LIGHT, DARK = "light", "dark"


@pytest.fixture(scope="module")
def colours():
    """Variables of the page, light and dark."""
    light, _, dark = asset("base.css").partition("@media screen and (prefers-color-scheme: dark)")
    read = [dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", part)) for part in (light, dark)]
    return dict(zip((LIGHT, DARK), read, strict=True))


def linear(colour):
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def contrast(one, other):
    """WCAG 2."""
    low, high = sorted(
        0.2126 * red + 0.7152 * green + 0.0722 * blue for red, green, blue in map(linear, (one, other))
    )
    return (high + 0.05) / (low + 0.05)


def lab(colour, eye):
    """CIELAB of the colour that an eye perceives."""
    red, green, blue = (sum(row[i] * part for i, part in enumerate(linear(colour))) for row in EYES[eye])
    x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505
    y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089
    fx, fy, fz = (
        t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (max(x, 0), max(y, 0), max(z, 0))
    )
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


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
