"""The summary as a drawing: the cells of every other exported table, set in lines."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Sequence

from rich.cells import cell_len

from analysis.export.chart_picture import FONT
from analysis.export.content import Content
from analysis.export.light import colours
from analysis.plain import cell
from analysis.report import theme
from analysis.report.markup import cut
from analysis.report.summary_table import ENDS, MOST_ROWS, ranking
from analysis.tables import Column

_SIZE, _ROW, _GAP, _MARGIN = 13, 24, 22, 16
"""CSS pixels: letters, from row to row, between columns, around all."""
_LONGEST = 48
"""Characters of a cell; the whole of a longer one is its title."""
_MOST_REASONS = 12
_LEAST_WIDTH = 608
"""With the margins the width of a chart's picture."""
_NARROW, _WIDE = frozenset("ijlftI.,:;|!'()[] "), frozenset("mwMW%@—")


def svg(content: Content) -> str:
    shown, which = _readable(content)
    columns = shown.on_paper()
    widths = [_width(column) for column in columns]
    sheet = _Sheet(max(_LEAST_WIDTH, sum(widths) + _GAP * (len(widths) - 1)))
    title = cut(cell(content.session["title"] or content.session["suite"]), 80)
    sheet.paragraph(title, 16, theme.INK, "bold")
    sheet.paragraph(content.sentence(), _SIZE, theme.INK)
    if shown.points:
        sheet.table(columns, widths)
    for note in [which, *_some(list(content.reasons())), *content.caveats(), content.provenance()]:
        sheet.paragraph(note, 11, theme.MUTED)
    return sheet.svg()


def _readable(content: Content) -> tuple[Content, str]:
    """All rows, or of more than one still reads the ends that the report's page shows too; and which those are."""
    measured = [point for point in content.points if point["throughput"] is not None]
    if len(content.points) <= MOST_ROWS or not measured:
        return content, ""
    ranked, measure = ranking(measured)
    ends = ranked if len(ranked) <= 2 * ENDS else [*ranked[:ENDS], *ranked[-ENDS:]]
    said = f"The largest size of each of {len(ranked):,} cases, by {measure}"
    which = f"{said}: {len(ends)} of them, from both ends; the other formats have all {len(content.points):,} rows."
    return content.of(ends), which


def _some(reasons: list[str]) -> list[str]:
    if len(reasons) <= _MOST_REASONS:
        return reasons
    more = f"{len(reasons) - _MOST_REASONS:,} more placements have runs that are not ok: the other formats say why."
    return [*reasons[:_MOST_REASONS], more]


class _Sheet:
    """Grows downwards."""

    def __init__(self, width: float) -> None:
        self._width = width
        self._top = 0.0
        self._parts: list[str] = []

    def paragraph(self, said: str, size: int, colour: str, weight: str = "normal") -> None:
        """In lines that fit."""
        look = f'font-size="{size}" font-weight="{weight}" fill="{colours()[colour]}"'
        for line in textwrap.wrap(said, round(self._width / (0.5 * size))):
            self._top += 1.4 * size
            self._parts.append(_text(line, 0, self._top, look))

    def table(self, columns: Sequence[Column], widths: Sequence[float]) -> None:
        self._top += _ROW + 0.25 * _ROW
        muted, left = f' fill="{colours()[theme.MUTED]}"', 0.0
        for column, width in zip(columns, widths, strict=True):
            x, anchor = (left + width, ' text-anchor="end"') if column.number else (left, "")
            self._parts.append(_text(column.heading, x, self._top, anchor + muted))
            for place, shown in enumerate(column.cells, 1):
                self._parts.append(_cell(shown.strip(), x, self._top + place * _ROW, anchor))
            left += width + _GAP
        self._rule(0.35 * _ROW)
        self._top += _ROW * len(columns[0].cells)
        self._rule(0.35 * _ROW)
        self._top += 0.5 * _ROW

    def _rule(self, below: float) -> None:
        line = f"M0 {self._top + below:g}H{self._width:g}"
        self._parts.append(f'<path d="{line}" stroke="{colours()[theme.MUTED]}" stroke-width="0.75"/>')

    def svg(self) -> str:
        width, height = round(self._width + 2 * _MARGIN), round(self._top + 2 * _MARGIN)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}"><rect width="{width}" height="{height}" '
            f'fill="{colours()[theme.PAPER]}"/><g transform="translate({_MARGIN},{_MARGIN})" '
            f'font-family="{html.escape(FONT)}" font-size="{_SIZE}" fill="{colours()[theme.INK]}">'
            f"{''.join(self._parts)}</g></svg>"
        )


def _cell(shown: str, x: float, y: float, look: str) -> str:
    if len(shown) <= _LONGEST:
        return _text(shown, x, y, look)
    return f"<g><title>{html.escape(shown)}</title>{_text(cut(shown, _LONGEST), x, y, look)}</g>"


def _text(said: str, x: float, y: float, look: str) -> str:
    look = f" {look.strip()}" if look else ""
    return f'<text x="{x:g}" y="{y:g}"{look}>{html.escape(said)}</text>' if said else ""


def _width(column: Column) -> float:
    """Enough for the widest cell in CSS pixels: no font is measured, so that the drawing is the same everywhere."""
    return max(map(_length, [column.heading, *(cut(shown, _LONGEST) for shown in column.cells)]))


def _length(said: str) -> float:
    return _SIZE * sum(map(_em, said))


def _em(character: str) -> float:
    if character in _NARROW:
        return 0.34
    if character in _WIDE or cell_len(character) > 1:
        return 1.0
    return 0.72 if character.isupper() else 0.58
