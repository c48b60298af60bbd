"""Every colour of text keeps WCAG's 4.5:1 (level AA) on paper and on the ground, in the light and in the dark."""

from __future__ import annotations

import re

import pytest

from analysis.report.pages.frame import asset

TEXT = ("ink", "muted", "accent", "good", "fair", "bad")


def colours(*, dark: bool) -> dict[str, str]:
    light, _, rest = asset("base.css").partition("prefers-color-scheme: dark")
    found = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", light))
    return found | dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", rest)) if dark else found


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def test_contrast_is_that_of_the_standard():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", TEXT)
def test_text_can_be_read_on_paper_and_ground(name, dark):
    shown = colours(dark=dark)
    assert min(contrast(shown[name], shown[under]) for under in ("paper", "ground")) >= 4.5


def test_no_text_has_another_colour_than_these():
    sheets = "".join(asset(f"{name}.css") for name in ("base", "tables"))
    used = set(re.findall(r"(?<![-\w])color: ([^;]+);", sheets))
    assert used <= {f"var(--{name})" for name in TEXT}
