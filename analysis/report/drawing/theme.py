"""Colours and Vega settings. A colour has one meaning on a page: cases (in a comparison sessions), sizes, parts of time
and verdicts have their own, and everything else is grey. Colours are CSS variables of the page, so dark mode and print
need no redrawing."""

from __future__ import annotations

from typing import Any

CATEGORIES = 8
"""Number of distinct colours for cases: those of Okabe & Ito, darkened to 3:1 contrast with the paper. More values are
distinguished in other ways."""
RAMP = 6
"""Number of shades from light to dark, for sizes."""

INK, MUTED, GRID, PAPER = "var(--ink)", "var(--muted)", "var(--grid)", "var(--paper)"
CONTEXT = "var(--context)"
"""Colour of lines in the background."""
SHAPES = [
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    "triangle-right",
    "triangle-left",
]
_DASHES = [[1, 4], [3, 3], [6, 3], [9, 2], [14, 2], [1, 0]]
"""Dash patterns from sparse to solid."""
GREY = "var(--muted)"
PHASES = [f"var(--{phase})" for phase in ("data", "forward", "backward", "optimizer")]
LOSSES = [
    f"var(--{part})" for part in ("used", "data", "imbalance", "communication", "clocks", "work", "unknown")
]
"""The used part, then the terms of lost efficiency."""
PROFILE = [f"var(--{part})" for part in ("compute", "hidden", "communication", "n4")]
"""Parts of a profiled step: compute, communication behind it, exposed communication, and the rest."""
_SHADES = 4


def categories(count: int) -> list[str]:
    assert count <= CATEGORIES, f"{count} values for {CATEGORIES} colours"
    return [f"var(--c{1 + index})" for index in range(count)]


def shades(count: int) -> list[str]:
    """`count` greys from dark to light, at most four that differ: for anything else than cases, sizes and parts of
    time, whose colours have one meaning on a page."""
    return [f"var(--n{1 + index % _SHADES})" for index in range(count)]


def shapes(count: int) -> list[str]:
    return [SHAPES[index % len(SHAPES)] for index in range(count)]


def ramp(count: int) -> list[str]:
    """`count` colours spread over the ramp, smallest size first."""
    spread = max(count - 1, 1)
    return [f"var(--s{1 + round(index * (RAMP - 1) / spread)})" for index in range(count)]


def dashes(count: int) -> list[list[int]]:
    """`count` patterns, smallest size first; the largest is a solid line."""
    spread = max(count - 1, 1)
    last = len(_DASHES) - 1
    return [_DASHES[last - round((count - 1 - index) * last / spread)] for index in range(count)]


def vega_config() -> dict[str, Any]:
    """Vega-Lite's `config` for every chart of a page."""
    font = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif"
    return {
        "background": "transparent",
        "font": font,
        "padding": 2,
        "view": {"stroke": None},
        "axis": {
            "labelColor": MUTED,
            "titleColor": INK,
            "titleFontWeight": 500,
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titlePadding": 8,
            "gridColor": GRID,
            "domainColor": GRID,
            "tickColor": GRID,
            "labelLimit": 150,
            "labelOverlap": True,
        },
        "axisX": {"grid": False, "domainColor": MUTED, "labelSeparation": 8},
        "axisY": {"domain": False, "ticks": False},
        "header": {"labelColor": INK, "labelFontSize": 12, "labelFontWeight": 600, "labelLimit": 240},
        "line": {"strokeWidth": 2},
        "text": {"color": MUTED, "fontSize": 11},
    }
