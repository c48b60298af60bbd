"""Pieces of HTML for a line of text or a cell. Sections and pages are templates: see render.py."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from markupsafe import Markup

from analysis.database.rows import Row
from analysis.report.html import units
from analysis.tables.column import Column
from analysis.wording import numbers

MOST_ROWS = 40
"""Rows of most tables; their CSVs have all."""
LONGEST = 80
"""Characters of a name in a line."""
_LONGEST_VALUE = 300
"""Characters of a value in a cell."""
UNKNOWN = units.UNKNOWN


def trusted(html: str) -> Markup:
    """HTML that needs no escaping: it is ours, or its untrusted parts are escaped."""
    return Markup(html)  # noqa: S704


def text(value: object) -> Markup:
    """The value, escaped and isolated: a right-to-left name must not reverse the text that follows it."""
    return Markup("<bdi>{}</bdi>").format(str(value))


def prose(value: object) -> Markup:
    """Escaped sentences; text between backticks is a command."""
    escaped = str(text(value))  # a Markup would escape the replacement
    return trusted(re.sub("`([^`]+)`", r"<code>\1</code>", escaped))


def cut(value: str, longest: int = LONGEST) -> str:
    return value if len(value) <= longest else f"{value[: longest - 1]}…"


def short(value: object) -> Markup:
    """A name in a line or a card. A very long one is cut, so that the rest of the line stays visible."""
    return text(cut(str(value)))


def headline(title: str, after: str = "") -> Markup:
    """A page's heading. A very long title takes two lines and has a tooltip with all of it. If `after` follows, the
    title is cut, so that `after` is visible."""
    if len(title) <= LONGEST:
        return Markup("<h1>{}{}</h1>").format(text(title), after)
    return Markup('<h1 title="{}">{}{}</h1>').format(title, short(title) if after else text(title), after)


def folded(value: object) -> Markup:
    """A value in a cell. A very long one is cut, and all of it is folded below."""
    whole = str(value)
    if len(whole) <= _LONGEST_VALUE:
        return text(whole)
    return text(cut(whole, _LONGEST_VALUE)) + details(f"All {len(whole):,} characters", text(whole))


def details(summary: str, content: Markup) -> Markup:
    """`content`, folded under a summary."""
    return Markup("<details><summary>{}</summary>{}</details>").format(summary, content)


def label(value: object, tone: str) -> Markup:
    """A word whose colour is `good`, `fair`, `bad` or `none`."""
    return Markup('<span class="label {}">{}</span>').format(tone, text(value))


def minor(value: object) -> Markup:
    """Text in grey, such as an interval after its value."""
    return Markup('<span class="interval">{}</span>').format(value)


def differing(content: Markup | str) -> Markup:
    """Mark a value that differs from the others, by a sign as well as by colour."""
    sign = Markup('<span class="unseen">differs: </span><span aria-hidden="true">◆</span>')
    return Markup('<span class="differs">{} {}</span>').format(sign, content)


def link(address: str, content: Markup | str) -> Markup:
    return Markup('<a href="{}">{}</a>').format(address, content)


def unordered(items: Iterable[Markup | str]) -> Markup:
    """A list; empty if there are no items."""
    lines = Markup().join(Markup("<li>{}</li>").format(item) for item in items)
    return Markup("<ul>{}</ul>").format(lines) if lines else lines


def lines(items: Iterable[Markup | str]) -> Markup:
    """Items below each other in a cell."""
    return Markup("<br>").join(items)


def unbroken(sentence: str) -> str:
    """The sentence with no line break between a number and its percent sign; markup stays markup."""
    return sentence.replace(" %", "\u00a0%")


def first_rows(most: int, count: int) -> str:
    """A note for a table that shows at most `most` rows; empty if it shows all."""
    return f" The first {most:,} of {count:,} rows; the CSV has all." if count > most else ""


def text_cell(field: str) -> Callable[[Row], str]:
    """The cell of a column of names; a dash if the row has none."""
    return lambda row: UNKNOWN if row[field] is None else text(row[field])


def count_cell(field: str) -> Callable[[Row], str]:
    """The cell of a column of counts: `1,234`."""
    return lambda row: UNKNOWN if row[field] is None else f"{row[field]:,}"


def number_cell(field: str, show: Callable[[float | None], str] = units.number) -> Callable[[Row], str]:
    """The cell of a column of numbers, written by `show`."""
    return lambda row: show(row[field])


def interval_cell(
    field: str,
    unit: str = "",
    factor: float = 1,
    *,
    apart_from: float | None = None,
    show: Callable[..., tuple[str, str]] = numbers.estimate,
) -> Callable[[Row], str]:
    """The cell of a column of values with their 95 % intervals, `<field>_lo` to `<field>_hi`."""
    return lambda row: units.with_interval(
        row[field], row[f"{field}_lo"], row[f"{field}_hi"], unit, factor, apart_from=apart_from, show=show
    )


CASE = Column("case", text_cell("case_name"))
PLACEMENT = Column("placement", text_cell("placement"))


@dataclass(frozen=True, kw_only=True)
class Section:
    """A section of a page; without content it is left out."""

    identifier: str
    title: str
    content: Markup
    folded: bool = False
    """Only the title and the answer show until a reader opens it."""
    answer: Markup | str = ""
    """The answer in a line, next to the title of a folded section."""
    printed: bool = False
    """Paper shows the content of a folded section."""
