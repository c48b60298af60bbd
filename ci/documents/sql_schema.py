"""Every table, view and macro of results.duckdb with every column: types from an empty database, meanings from the SQL.

The meaning of a column is a comment in its own definition: at the end of the line that names it, or a comment line
`-- column: meaning`, which the next comment lines may continue. Otherwise it is that of the column of the same name in
a definition that it reads, or in an earlier one.
`x_lo` and `x_hi` are the ends of the interval of `x`.

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

from analysis.database import schema
from ci.documents.markdown import code, table, unit

_COLUMN = re.compile(r"(?:^|\s|\.)(\w+)(?:\s+[A-Z]+(?:\[\])?)?,?\s*--\s*(.+)$")
_ALONE = re.compile(r"^\s+-- (\w+): (.+)$")
_SHARED_BY = 10
"""Number of tables with the same column from which on the column is described only once."""
_MADE = re.compile(r"CREATE (?:OR REPLACE )?(TABLE|VIEW|MACRO) (\w+)\s*(\([^)]*\))?")


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
    stored = [
        *schema.session_tables(),
        *(name for name in schema.tables() if name not in schema.session_tables()),
    ]
    names = [*stored, *schema.views(), *schema.macros()]
    known: dict[str, str] = {}
    found: list[Relation] = []
    with duckdb.connect() as connection:
        schema.create(connection)
        for name in names:
            read = schema.references().get(name, set())
            sources = [column for other in found if other.name in read for column in other.columns]
            inherited = known | {column: meaning for column, _, meaning in sources if meaning}
            one = _read(connection, name, schema.text(name), inherited)
            found.append(one)
            known = {column: meaning for column, _, meaning in one.columns if meaning} | known
    return tuple(found)


def _read(connection: duckdb.DuckDBPyConnection, name: str, text: str, known: dict[str, str]) -> Relation:
    made = _MADE.search(text)
    kind = made[1] if made else "DERIVED"  # a derived table's file is a query
    own = _comments(text)
    call, described = _described(
        connection, name, made[3] if made and kind == "MACRO" else "", "AS TABLE" in text
    )
    columns = tuple((column, str(type_), _meaning(column, own, known)) for column, type_, *_ in described)
    return Relation(name=name, kind=kind, head=_head(text), call=call, columns=columns)


def _described(
    connection: duckdb.DuckDBPyConnection, name: str, parameters: str, gives_rows: bool
) -> tuple[str, list[Row]]:
    """The call, and DuckDB's description of the columns; a scalar macro has none."""
    if not parameters:
        return f"FROM {name}", connection.execute(f"DESCRIBE {name}").fetchall()
    parameters = " ".join(parameters.split()).replace("( ", "(").replace(" )", ")")
    if not gives_rows:
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


def _head(text: str) -> str:
    lines = []
    for line in text.splitlines():
        if not line.startswith("--"):
            break
        lines.append(line.removeprefix("--").strip())
    return " ".join(lines)


def _comments(text: str) -> dict[str, str]:
    """Column -> its comment; the last one counts."""
    found: dict[str, str] = {}
    begun = ""  # the column whose meaning the next comment line may continue
    for line in text.splitlines():
        is_comment = line.lstrip().startswith("--")
        if column := (_ALONE if is_comment else _COLUMN).search(line):
            found[column[1]] = column[2].strip()
            begun = column[1] if is_comment else ""
        elif is_comment and begun:
            found[begun] += " " + line.strip(" -")
        else:
            begun = ""
    return found


def _meaning(column: str, own: dict[str, str], known: dict[str, str]) -> str:
    if column in own:
        return own[column]
    return known.get(column, "") or _end_of_interval(column)


def _end_of_interval(column: str) -> str:
    base, _, end = column.rpartition("_")
    if end not in ("lo", "hi"):
        return ""
    return f"{'lower' if end == 'lo' else 'upper'} end of the 95 % interval of {base}"


@functools.cache
def _shared() -> tuple[Column, ...]:
    """Columns that many tables have with the same meaning, the most frequent first."""
    counts = collections.Counter(column for one in relations() for column in one.columns)
    return tuple(
        column
        for column, count in counts.most_common()
        if count >= _SHARED_BY and column[2] != _end_of_interval(column[0])
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
        if meaning == _end_of_interval(name) and kinds.get(base := name.rpartition("_")[0]) == kind
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
