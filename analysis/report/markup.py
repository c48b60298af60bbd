"""HTML from text that is not trusted: everything passes through `text`, once."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]


def text(value: object) -> str:
    """Escaped, and isolated: a name written from right to left must not turn round what follows it."""
    return f"<bdi>{html.escape(str(value))}</bdi>"


def attribute(value: object) -> str:
    """Escaped, for the inside of a quoted attribute."""
    return html.escape(str(value))


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of a table."""

    label: str
    """With the unit where the cells have none."""
    cell: Callable[[Row], str]
    """HTML of a row's cell."""
    numeric: bool = False
    """Stands to the right, in figures of equal width."""


def table(caption: str, columns: Sequence[Column], rows: Iterable[Row]) -> str:
    """A table that scrolls by itself where it is wider than the page. The caption is for screen readers."""
    heads = "".join(f'<th scope="col"{_kind(column)}>{html.escape(column.label)}</th>' for column in columns)
    body = "".join(f"<tr>{_cells(columns, row)}</tr>" for row in rows)
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{attribute(caption)}">'
        f'<table><caption class="unseen">{html.escape(caption)}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cells(columns: Sequence[Column], row: Row) -> str:
    first, *others = columns
    head = f'<th scope="row"{_kind(first)}>{first.cell(row)}</th>'
    return head + "".join(f"<td{_kind(column)}>{column.cell(row)}</td>" for column in others)


def _kind(column: Column) -> str:
    return ' class="number"' if column.numeric else ""


def details(summary: str, content: str, kind: str = "") -> str:
    """Closed until it is asked for. `content` is HTML."""
    return f'<details class="{attribute(kind)}"><summary>{html.escape(summary)}</summary>{content}</details>'


def section(identifier: str, title: str, content: str) -> str:
    """Nothing where there is no content."""
    if not content:
        return ""
    return f'<section aria-labelledby="{identifier}"><h2 id="{identifier}">{html.escape(title)}</h2>{content}</section>'


def unordered(items: Iterable[str]) -> str:
    """A list of HTML items; nothing where there are none."""
    lines = "".join(f"<li>{item}</li>" for item in items)
    return f"<ul>{lines}</ul>" if lines else ""
