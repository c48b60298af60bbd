"""The LaTeX table with columns of the package siunitx, which aligns numbers at the decimal point."""

from __future__ import annotations

import re
from collections.abc import Sequence

from analysis.export.content import Content
from analysis.export.format_types import Page
from analysis.export.formats.latex import LatexColumn, write
from analysis.export.latex_text import escaped

_NUMBER = re.compile(r"(\d+)(?:\.(\d+))?")


def aligned(heading: str, cells: Sequence[str]) -> LatexColumn | None:
    """A column S that is as wide as its widest number; siunitx sets braces as text."""
    numbers = [_NUMBER.fullmatch(cell.strip().replace(",", "")) for cell in cells]
    digits = [(len(number[1]), len(number[2] or "")) for number in numbers if number]
    if not digits:
        return None
    integers, decimals = (max(places) for places in zip(*digits, strict=True))
    shown = [
        number[0] if number else f"{{{escaped(cell.strip())}}}"
        for number, cell in zip(numbers, cells, strict=True)
    ]
    return LatexColumn(f"S[table-format={integers}.{decimals}]", f"{{{escaped(heading)}}}", shown)


def _write(content: Content) -> str:
    return write(content, aligned)


FORMAT = Page(write=_write)
