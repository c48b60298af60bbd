"""HTML from text that is not trusted: everything passes through `text`, once."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from analysis.fetched import Row


def text(value: object) -> str:
    """Escaped, and isolated: a name written from right to left must not turn round what follows it."""
    return f"<bdi>{html.escape(str(value))}</bdi>"


def prose(value: object) -> str:
    """Escaped sentences, in which a command stands between backticks."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", text(value))


LONGEST = 80
"""Characters of a name that stand in a line."""
_LONGEST_VALUE = 300
"""Characters of a value that stand in a cell."""


def short(value: object) -> str:
    """A name in a line or a card: of a very long one the beginning, so that it cannot push the rest away."""
    return text(cut(str(value), LONGEST))


def headline(title: str, after: str = "") -> str:
    """A page's heading. Of a very long title two lines show, the whole where the pointer rests; where our own words
    come after it, it is cut so that they show too."""
    if len(title) <= LONGEST:
        return f"<h1>{text(title)}{after}</h1>"
    return f'<h1 title="{attribute(title)}">{short(title) if after else text(title)}{after}</h1>'


def cut(value: str, longest: int) -> str:
    return value if len(value) <= longest else f"{value[: longest - 1]}…"


def folded(value: object) -> str:
    """A value in a cell: of a very long one the beginning, above the whole of it folded."""
    whole = str(value)
    if len(whole) <= _LONGEST_VALUE:
        return text(whole)
    return text(cut(whole, _LONGEST_VALUE)) + details(f"All {len(whole):,} characters", text(whole))


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


def table(caption: str, columns: Sequence[Column], rows: Iterable[Row], *, stacks: bool = False) -> str:
    """A table that scrolls by itself where it is wider than the page; one that `stacks` has on a phone the cells of a
    row below each other, each beside its heading. The caption is for screen readers."""
    return _table(
        caption, columns, f"<tbody>{_lines(columns, rows, names=stacks)}</tbody>", "stacks" * stacks
    )


def first_rows(most: int, count: int) -> str:
    """What to say beside a table that shows `most` rows at most; nothing where it shows all."""
    return f" The first {most:,} of {count:,} rows; the CSV has all." if count > most else ""


def grouped_table(
    caption: str, columns: Sequence[Column], groups: Iterable[tuple[str, Sequence[Row]]]
) -> str:
    """The same with a heading, which is HTML, above each group of rows."""
    return _table(
        caption,
        columns,
        "".join(
            f'<tbody><tr class="group"><th scope="rowgroup" colspan="{len(columns)}"><div>{heading}</div></th></tr>'
            f"{_lines(columns, rows)}</tbody>"
            for heading, rows in groups
        ),
    )


def _table(caption: str, columns: Sequence[Column], bodies: str, kind: str = "") -> str:
    heads = "".join(f'<th scope="col"{_kind(column)}>{html.escape(column.label)}</th>' for column in columns)
    return (
        f'<div class="scroll{kind and f" {kind}"}" role="region" tabindex="0" aria-label="{attribute(caption)}">'
        f'<table><caption class="unseen">{html.escape(caption)}</caption>'
        f"<thead><tr>{heads}</tr></thead>{bodies}</table></div>"
    )


def _lines(columns: Sequence[Column], rows: Iterable[Row], *, names: bool = False) -> str:
    return "".join(f"<tr>{_cells(columns, row, names=names)}</tr>" for row in rows)


def _cells(columns: Sequence[Column], row: Row, *, names: bool) -> str:
    """With `names` each has that of its column."""
    first, *others = columns
    head = f'<th scope="row"{_kind(first)}>{first.cell(row)}</th>'
    return head + "".join(
        f"<td{_kind(column)}{_name(column) * names}>{column.cell(row)}</td>" for column in others
    )


def _name(column: Column) -> str:
    return f' data-name="{attribute(column.label)}"'


def _kind(column: Column) -> str:
    return ' class="number"' if column.numeric else ""


def differing(content: str) -> str:
    """HTML marked as differing from the others, by a sign beside the colour."""
    sign = '<span class="unseen">differs: </span><span aria-hidden="true">◆</span>'
    return f'<span class="differs">{sign} {content}</span>'


def details(summary: str, content: str, kind: str = "") -> str:
    """Closed until it is asked for; of the kind `printed` it is open on paper. `content` is HTML."""
    attributes = f' class="{attribute(kind)}"' if kind else ""
    return f"<details{attributes}><summary>{html.escape(summary)}</summary>{content}</details>"


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of a page that its contents lead to."""

    identifier: str
    title: str
    content: str
    """HTML; where it is empty, the section is left out."""


def sections(parts: Iterable[Section]) -> str:
    return "".join(section(part.identifier, part.title, part.content) for part in parts)


def navigation(parts: Iterable[Section]) -> str:
    """Links to the sections that there are."""
    links = "".join(
        f'<li><a href="#{part.identifier}">{html.escape(part.title)}</a></li>'
        for part in parts
        if part.content
    )
    return f'<nav class="contents screen-only" aria-label="On this page"><ul>{links}</ul></nav>'


def section(identifier: str, title: str, content: str) -> str:
    """Nothing where there is no content."""
    if not content:
        return ""
    return f'<section aria-labelledby="{identifier}"><h2 id="{identifier}">{html.escape(title)}</h2>{content}</section>'


def unordered(items: Iterable[str]) -> str:
    """A list of HTML items; nothing where there are none."""
    lines = "".join(f"<li>{item}</li>" for item in items)
    return f"<ul>{lines}</ul>" if lines else ""
