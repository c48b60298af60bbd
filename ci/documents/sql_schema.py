"""Every table, view and macro of results.duckdb with every column: types from an empty database, meanings from the SQL.

A column's meaning is the comment at the end of the line that names it, or a comment line `-- column: meaning`, in its
own file; else that of the column of the same name which an earlier file describes, and of a macro that only calls
another the other's. `x_lo` and `x_hi` are the ends of the interval of `x`.
"""

from __future__ import annotations

import contextlib
import functools
import re
from dataclasses import dataclass
from typing import Any

import duckdb

from analysis import schema
from ci.documents.markdown import code, table, unit

_COLUMN = re.compile(r"(?:^|\s|\.)(\w+)(?:\s+[A-Z]+(?:\[\])?)?,?\s*--\s*(.+)$")
_ALONE = re.compile(r"^\s+-- (\w+): (.+)$")
_PASSED_ON = re.compile(r"AS TABLE\s+FROM (\w+)\(")
_MADE = re.compile(r"CREATE (?:OR REPLACE )?(TABLE|VIEW|MACRO) (\w+)\s*(\([^)]*\))?")


Row = tuple[Any, ...]


@dataclass(frozen=True, kw_only=True)
class Relation:
    """A table, a derived table, a view or a table macro."""

    name: str
    kind: str
    head: str
    """What one row is."""
    call: str
    """How it is asked."""
    columns: tuple[tuple[str, str, str], ...]
    """Name, type, meaning."""


def tables() -> str:
    return "\n".join(_relation(one) for one in relations() if one.kind == "TABLE")


def derived() -> str:
    return "\n".join(_relation(one) for one in _by_name("DERIVED"))


def views() -> str:
    return "\n".join(_relation(one) for one in _by_name("VIEW"))


def macros() -> str:
    """Those that give rows like a view, then those that give a value."""
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
    """Tables, then views and macros, each after those that it reads: what these describe need not be said again."""
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
            text = schema.text(name)
            one = _read(connection, name, text, _passed_on(text, found) or known)
            found.append(one)
            known = {column: meaning for column, _, meaning in one.columns if meaning} | known
    return tuple(found)


def _passed_on(text: str, found: list[Relation]) -> dict[str, str]:
    """Meanings of the columns of the macro that this one only calls."""
    called = _PASSED_ON.search(text)
    names = [called[1]] if called else []
    return {column: meaning for one in found if one.name in names for column, _, meaning in one.columns}


def _read(connection: duckdb.DuckDBPyConnection, name: str, text: str, known: dict[str, str]) -> Relation:
    made = _MADE.search(text)
    kind = made[1] if made else "DERIVED"  # its file is a query
    own = _comments(text)
    call, described = _described(
        connection, name, made[3] if made and kind == "MACRO" else "", "AS TABLE" in text
    )
    columns = tuple((column, str(type_), _meaning(column, own, known)) for column, type_, *_ in described)
    return Relation(name=name, kind=kind, head=_head(text), call=call, columns=columns)


def _described(
    connection: duckdb.DuckDBPyConnection, name: str, parameters: str, gives_rows: bool
) -> tuple[str, list[Row]]:
    """How it is called, and DuckDB's own description of its columns; a scalar macro has none."""
    if not parameters:
        return f"FROM {name}", connection.execute(f"DESCRIBE {name}").fetchall()
    parameters = " ".join(parameters.split()).replace("( ", "(").replace(" )", ")")
    if not gives_rows:
        return f"{name}{parameters}", []
    required = sum(":=" not in word for word in parameters.split(","))
    return f"FROM {name}{parameters}", _columns_of_macro(connection, name, required)


def _columns_of_macro(connection: duckdb.DuckDBPyConnection, name: str, arguments: int) -> list[Row]:
    """An argument has no type until the macro is called: text is tried, then numbers."""
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
    found = {}
    for line in text.splitlines():
        pattern = _ALONE if line.lstrip().startswith("--") else _COLUMN
        if column := pattern.search(line):
            found[column[1]] = column[2].strip()
    return found


def _meaning(column: str, own: dict[str, str], known: dict[str, str]) -> str:
    if column in own:
        return own[column]
    base, _, end = column.rpartition("_")
    if end in ("lo", "hi"):
        return f"{'lower' if end == 'lo' else 'upper'} end of the 95 % interval of {base}"
    return known.get(column, "")


def _relation(one: Relation) -> str:
    rows = [(code(name), code(kind), unit(name), meaning) for name, kind, meaning in one.columns]
    called = f"\n\nCall: {code(one.call)}" if one.kind == "MACRO" else ""
    columns = table(("column", "type", "unit", "meaning"), rows) if rows else ""
    twin = next(other for other in relations() if other.columns == one.columns)
    if rows and twin is not one:
        columns = f"Its columns are those of [{twin.name}](#{twin.name}).\n"
    return f"### {one.name}\n\n{one.head}{called}\n\n{columns}"
