"""Every table, view and macro of results.duckdb with every column: types from an empty
database, meanings from the comments of the SQL (analysis/database/meanings.py).

Columns that mean the same in many tables are described once, and the ends of intervals are listed next to their column.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import re
from dataclasses import dataclass
from typing import Any

import duckdb

from analysis.database import meanings, schema
from ci.documents.markdown import code, table, unit

_SHARED_BY = 10
"""Number of tables with the same column from which on the column is described only once."""
_MADE = re.compile(r'CREATE (?:OR REPLACE )?(TABLE|VIEW|MACRO) "?(\w+)"?\s*(\([^)]*\))?')


Row = tuple[Any, ...]
Column = tuple[str, str, str]
"""Name, type, meaning."""


@dataclass(frozen=True, kw_only=True)
class Relation:
    """A table, a derived table, a view or a table macro."""

    name: str
    kind: str
    head: str
    """The meaning of one row."""
    call: str
    """How a query calls it."""
    columns: tuple[Column, ...]


def shared_columns() -> str:
    return _table(list(_shared()))


def tables() -> str:
    return "\n".join(_relation(one) for one in relations() if one.kind == "TABLE")


def derived() -> str:
    return "\n".join(_relation(one) for one in _by_name("DERIVED"))


def views() -> str:
    return "\n".join(_relation(one) for one in _by_name("VIEW"))


def macros() -> str:
    """Macros that give rows like a view, then macros that give a value."""
    every = _by_name("MACRO")
    rows = [(code(one.call), one.head) for one in every if not one.columns]
    given = "\n".join(_relation(one) for one in every if one.columns)
    return f"{given}\n{table(('a value', 'meaning'), rows)}"


def _by_name(kind: str) -> list[Relation]:
    return sorted((one for one in relations() if one.kind == kind), key=lambda one: one.name)


def undescribed() -> list[str]:
    """Columns without a meaning, and relations without a head."""
    heads = [one.name for one in relations() if not one.head]
    return heads + [
        f"{one.name}.{name}" for one in relations() for name, _, meaning in one.columns if not meaning
    ]


@functools.cache
def relations() -> tuple[Relation, ...]:
    """Tables, then views and macros, each after those that it reads, from which it takes meanings."""
    names = [*schema.stored(), *schema.views(), *schema.macros()]
    with duckdb.connect() as connection:
        schema.create(connection)
        described = {name: _described(connection, name) for name in names}
    columns = {name: [column for column, *_ in rows] for name, (_, rows) in described.items()}
    found = meanings.of_columns(columns, schema.text, schema.references())
    return tuple(
        Relation(
            name=name,
            kind=_kind(name),
            head=meanings.of_relation(schema.text(name)),
            call=call,
            columns=tuple((column, str(type_), found[name][column]) for column, type_, *_ in rows),
        )
        for name, (call, rows) in described.items()
    )


def _kind(name: str) -> str:
    made = _MADE.search(schema.text(name))
    return made[1] if made else "DERIVED"  # a derived table's file is a query


def _described(connection: duckdb.DuckDBPyConnection, name: str) -> tuple[str, list[Row]]:
    """The call, and DuckDB's description of the columns; a scalar macro has none."""
    text = schema.text(name)
    made = _MADE.search(text)
    parameters = made[3] if made and made[1] == "MACRO" else None
    if not parameters:
        return f"FROM {name}", connection.execute(f"DESCRIBE {name}").fetchall()
    parameters = " ".join(parameters.split()).replace("( ", "(").replace(" )", ")")
    if "AS TABLE" not in text:
        return f"{name}{parameters}", []
    required = sum(":=" not in word for word in parameters.strip("()").split(",") if word)
    return f"FROM {name}{parameters}", _columns_of_macro(connection, name, required)


def _columns_of_macro(connection: duckdb.DuckDBPyConnection, name: str, arguments: int) -> list[Row]:
    """DuckDB's description of a macro's columns. Arguments have no type before a call: text is tried, then numbers."""
    for value in ("''", "0.5::DOUBLE"):
        with contextlib.suppress(duckdb.BinderException):
            call = f"{name}({', '.join([value] * arguments)})"
            return connection.execute(f"DESCRIBE FROM {call}").fetchall()
    raise AssertionError(f"{name} takes neither text nor numbers")


@functools.cache
def _shared() -> tuple[Column, ...]:
    """Columns that many tables have with the same meaning, the most frequent first."""
    counts = collections.Counter(column for one in relations() for column in one.columns)
    return tuple(
        column
        for column, count in counts.most_common()
        if count >= _SHARED_BY and column[2] != meanings.end_of_interval(column[0])
    )


def _relation(one: Relation) -> str:
    lines = [f"### {one.name}", "", one.head, ""]
    if one.kind == "MACRO":
        lines += [f"Call: {code(one.call)}", ""]
    twin = next(other for other in relations() if other.columns == one.columns)
    if one.columns and twin is not one:
        return "\n".join([*lines, f"Same columns as [{twin.name}](#{twin.name}).", ""])
    if shared := [code(name) for name, kind, meaning in one.columns if (name, kind, meaning) in _shared()]:
        lines += [f"[Shared columns](#shared-columns): {', '.join(shared)}", ""]
    return "\n".join([*lines, _table([column for column in one.columns if column not in _shared()])])


def _table(columns: list[Column]) -> str:
    """A table of columns. The ends of an interval share their column's row, unless they have their own meaning."""
    kinds = {name: kind for name, kind, _ in columns}
    ends = {
        name: base
        for name, kind, meaning in columns
        if meaning == meanings.end_of_interval(name) and kinds.get(base := name.rpartition("_")[0]) == kind
    }
    rows = [
        (
            ", ".join(code(part) for part in (name, *(end for end, base in ends.items() if base == name))),
            code(kind),
            unit(name),
            meaning,
        )
        for name, kind, meaning in columns
        if name not in ends
    ]
    return table(("column", "type", "unit", "meaning"), rows) if rows else ""
