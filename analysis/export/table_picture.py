"""The summary as a picture: the same cells as in the other exported tables, drawn as a chart of texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rich.cells import cell_len

from analysis.export.chart_picture import TITLE, broken, colours, render
from analysis.export.content import Content
from analysis.report.drawing import theme
from analysis.report.html.markup import cut
from analysis.report.sections.summary_table import ENDS, MOST_ROWS, ranking
from analysis.tables.column import Column
from analysis.wording.plain_text import printable

_SIZE, _ROW, _GAP = 13, 24, 22
"""CSS pixels: font size, height of a row, space between columns."""
_NOTE_SIZE, _NOTE_ROW = 11, 15
_LONGEST = 48
"""Characters of a cell. A longer text is cut; its description (`aria-label`) has all of it."""
_LEAST_WIDTH = 618
"""Plus the margins, it is the width of a chart's picture."""
_MOST_REASONS = 12
_NARROW, _WIDE = frozenset("ijlftI.,:;|!'()[] "), frozenset("mwMW%@—")

Mark = dict[str, Any]
"""Data of a text or a rule."""


def svg(content: Content) -> str:
    shown, which_rows = _readable(content)
    table = shown.on_paper()
    columns = table.columns()
    lines = [[printable(text.strip()) for text in line] for line in table.lines()]
    headings = [column.heading for column in columns]
    widths = [
        max(_width(cut(text, _LONGEST)) for text in texts) for texts in zip(headings, *lines, strict=True)
    ]
    width = max(_LEAST_WIDTH, round(sum(widths) + _GAP * (len(widths) - 1)))
    texts, rules, y = _cells(columns, [headings, *lines], widths) if lines else ([], [], 0.0)
    notes = [
        which_rows,
        *_some(list(content.reasons())),
        *content.caveats(),
        f"Source: {content.provenance()}",
    ]
    for line in (line for note in notes for line in _wrapped(note, width, _NOTE_SIZE)):
        y += _NOTE_ROW
        texts.append(_text(line, 0, y, _NOTE_SIZE, theme.MUTED))
    finding = printable(content.sentence())
    title = printable(content.caption) or finding
    below = finding if content.caption else cut(printable(content.title()), 80)
    return render(
        {
            "title": {
                "text": broken(title, TITLE),
                "subtitle": _wrapped(below, width, _SIZE),
                "subtitleColor": colours()[theme.INK],
                "subtitleFontSize": _SIZE,
                "subtitleLineHeight": 1.4 * _SIZE,
            },
            "width": width,
            "height": y + 0.5 * _NOTE_ROW,
            "view": {"stroke": None},
            "encoding": {"y": _pixels("y")},
            "layer": [
                {
                    "data": {"values": texts},
                    "mark": {"type": "text", "align": {"expr": "datum.align"}, "baseline": "alphabetic"},
                    "encoding": {
                        "x": _pixels("x"),
                        "text": {"field": "text"},
                        "size": _pixels("size"),
                        "color": {"field": "colour", "type": "nominal", "scale": None},
                        "description": {"field": "whole"},
                    },
                },
                {
                    "data": {"values": rules},
                    "mark": {"type": "rule", "color": colours()[theme.MUTED], "strokeWidth": 0.75},
                    "encoding": {"x": {"value": 0}, "x2": {"value": width}},
                },
            ],
        }
    )


def _cells(
    columns: Sequence[Column], lines: Sequence[Sequence[str]], widths: Sequence[float]
) -> tuple[list[Mark], list[Mark], float]:
    """Texts and rules of the table, and the y at which it ends. The first of `lines` has the headings."""
    texts, rules, y = [], [], 0.0
    for place, line in enumerate(lines):
        y, left = y + _ROW, 0.0
        for column, text, width in zip(columns, line, widths, strict=True):
            x = left + width if column.number else left
            colour = theme.INK if place else theme.MUTED
            texts.append(_text(text, x, y, _SIZE, colour, "right" if column.number else "left"))
            left += width + _GAP
        if place in (0, len(lines) - 1):
            rules.append({"y": y + 0.35 * _ROW})
    return texts, rules, y + 0.75 * _ROW


def _text(text: str, x: float, y: float, size: float, colour: str, align: str = "left") -> Mark:
    shown = text if size == _NOTE_SIZE else cut(text, _LONGEST)
    return {
        "text": shown, "whole": text, "x": x, "y": y, "size": size, "colour": colours()[colour], "align": align,
    }  # fmt: skip


def _pixels(field: str) -> dict[str, Any]:
    """An encoding by the field's values in pixels, without a scale."""
    return {"field": field, "type": "quantitative", "scale": None, "axis": None} | (
        {"legend": None} if field == "size" else {}
    )


def _readable(content: Content) -> tuple[Content, str]:
    """The content with a readable number of rows, and a note if rows are left out. If there are too many, it keeps both
    ends of the ranking, as the report's page does."""
    measured = [point for point in content.points if point["throughput"] is not None]
    if len(content.points) <= MOST_ROWS or not measured:
        return content, ""
    ranked, measure = ranking(measured)
    ends = ranked if len(ranked) <= 2 * ENDS else [*ranked[:ENDS], *ranked[-ENDS:]]
    note = (
        f"The largest size of each of {len(ranked):,} cases, by {measure}: {len(ends)} of them, from both ends; "
        f"the other formats have all {len(content.points):,} rows."
    )
    return replace(content, points=ends), note


def _some(reasons: list[str]) -> list[str]:
    if len(reasons) <= _MOST_REASONS:
        return reasons
    more = f"{len(reasons) - _MOST_REASONS:,} more placements have runs that are not ok: the other formats say why."
    return [*reasons[:_MOST_REASONS], more]


def _wrapped(text: str, width: float, size: float) -> list[str]:
    return broken(printable(text), round(width / (0.5 * size)))


def _width(text: str) -> float:
    """A sufficient width for a text, in CSS pixels. It measures no font, so the drawing is the same everywhere."""
    return _SIZE * sum(
        0.34
        if character in _NARROW
        else 1.0
        if character in _WIDE or cell_len(character) > 1
        else 0.72
        if character.isupper()
        else 0.58
        for character in text
    )
