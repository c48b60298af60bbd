"""Colours and Vega settings. Colours are CSS variables of the page, so that dark mode and print need no redrawing."""

from __future__ import annotations

from typing import Any

CATEGORIES = 8
"""Distinct colours (Okabe & Ito's) before they begin again; shapes tell apart what then looks alike."""
RAMP = 6
"""Steps from light to dark for sizes, which have an order."""

INK, MUTED, GRID, PAPER = "var(--ink)", "var(--muted)", "var(--grid)", "var(--paper)"
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
PHASE_COLOURS = ["var(--c5)", "var(--c6)", "var(--c1)", "var(--c3)"]
PART_COLOURS = ["var(--c5)", "var(--c1)", "var(--c8)", "var(--c2)"]


def categories(count: int) -> list[str]:
    return [f"var(--c{1 + index % CATEGORIES})" for index in range(count)]


def shapes(count: int) -> list[str]:
    return [SHAPES[index % len(SHAPES)] for index in range(count)]


def ramp(count: int) -> list[str]:
    """`count` colours spread over the ramp, smallest size first."""
    spread = max(count - 1, 1)
    return [f"var(--s{1 + round(index * (RAMP - 1) / spread)})" for index in range(count)]


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
        "legend": {
            "orient": "top",
            "labelColor": INK,
            "titleColor": MUTED,
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": 500,
            "titleOrient": "left",
            "labelLimit": 180,
            "symbolStrokeWidth": 2,
            "symbolOpacity": 1,
        },
        "line": {"strokeWidth": 2},
        "text": {"color": MUTED, "fontSize": 11},
    }
