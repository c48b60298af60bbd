"""Rows as plain text: numbers readable, nothing cut off, one block per row where lines would not fit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

Rows = Sequence[Sequence[Any]]


def layout(names: Sequence[str], rows: Rows, width: int | None) -> str:
    """A table; blocks of `name  value` lines where it is wider than `width` columns. Null width: a table always."""
    cells = [[cell(value) for value in row] for row in rows]
    widths = [max([len(name), *(len(row[i]) for row in cells)]) for i, name in enumerate(names)]
    if width is not None and sum(widths) + 2 * (len(widths) - 1) > width:
        return _blocks(names, cells)
    right = [_is_number_column(rows, i) for i in range(len(names))]
    return "\n".join(_line(row, widths, right) for row in [list(names), ["-" * w for w in widths], *cells])


def _is_number_column(rows: Rows, index: int) -> bool:
    values = [row[index] for row in rows if row[index] is not None]
    return bool(values) and all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)


def _line(row: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = (
        text.rjust(width) if is_right else text.ljust(width)
        for text, width, is_right in zip(row, widths, right, strict=True)
    )
    return "  ".join(padded).rstrip()


def _blocks(names: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    longest = max(len(name) for name in names)
    return "\n".join(
        line
        for number, row in enumerate(cells, 1)
        for line in [
            f"-- row {number}",
            *(f"{n.ljust(longest)}  {c}" for n, c in zip(names, row, strict=True)),
        ]
    )


def cell(value: Any) -> str:
    """A value on one line; null is shown as nothing."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    if isinstance(value, float):
        return number(value)
    return printable(str(value))


def printable(text: str, keep: str = "") -> str:
    """With what draws nothing written out, `\\u202e`, but for characters to keep: none reaches a terminal."""
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text)


def number(value: float, digits: int = 6, *, strip: bool = True) -> str:
    """So many significant digits, without an exponent where people do not need one. `strip`: without final zeros."""
    if not math.isfinite(value) or value == 0 or not 1e-4 <= abs(value) < 1e15:
        return f"{value:.{digits}g}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{decimals}f}" if abs(value) >= 10_000 else f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if strip and "." in text else text


def listed(names: Iterable[str], most: int) -> str:
    """`a, b and 3 more`."""
    every = list(names)
    more = f" and {len(every) - most:,} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more
