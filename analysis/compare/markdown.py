"""A comparison as Markdown, to be pasted into a merge request."""

from __future__ import annotations

import re

from analysis.compare.cells import UNLIKE, difference, key_columns, notes, value_columns
from analysis.compare.comparison import Comparison
from analysis.compare.sentence import sentence
from analysis.plain import cell
from analysis.tables import Column

_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~@!&$])")


def markdown(comparison: Comparison) -> str:
    """The sentence first, what is unlike, then the table; tables as GitHub and GitLab read them."""
    parts = [f"**{sentence(comparison, _escaped)}**"]
    if comparison.unlike:
        lines = [f"> - {difference(found, _escaped)}" for found in comparison.unlike]
        parts.append("\n".join([f"> **{UNLIKE}**", ">", *lines]))
    columns = [*key_columns(comparison), *(c for c in value_columns(comparison) if any(c.cells))]
    parts.append(_table(columns))
    sides = (
        f"baseline: {_escaped(comparison.baseline.name)}; candidate: {_escaped(comparison.candidate.name)}"
    )
    also = [
        f"also differs: {difference(found, _escaped)}"
        for found in comparison.differences
        if not found.must_equal
    ]
    parts.append("\n".join(f"- {line}" for line in [sides, *also, *notes(comparison, _escaped)]))
    return "\n\n".join(parts)


def _table(columns: list[Column]) -> str:
    rows = [
        [column.heading for column in columns],
        ["--:" if column.number else ":--" for column in columns],
        *map(list, zip(*map(_cells, columns), strict=True)),
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cells(column: Column) -> list[str]:
    return [_escaped(text) if column.foreign else text for text in column.cells]


def _escaped(text: str) -> str:
    """What others wrote, without markup in it: no mention, no link, no column of its own."""
    return _MARKUP.sub(r"\\\1", cell(text))
