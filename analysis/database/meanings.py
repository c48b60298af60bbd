"""The meaning of each table, view and column, from the comments of its definition in results.duckdb-schema/.

The meaning of a relation, of one of its rows, is the comment at the top of its file. The meaning of a column is a
comment in the same file: at the end of the line that names it, or a comment line `-- column: meaning`, which the next
comment lines may continue. Otherwise it is that of the column of the same name in a definition that it reads, or in an
earlier one. `x_lo` and `x_hi` are the ends of the interval of `x`.

A database has them as comments, which `duckdb_columns()` and database browsers show. docs/schema.md lists them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence

import duckdb

from analysis.database.sql_text import identifier, literal

_COLUMN = re.compile(r"(?:^|\s|\.)(\w+)(?:\s+[A-Z]+(?:\[\])?)?,?\s*--\s*(.+)$")
_ALONE = re.compile(r"^\s+-- (\w+): (.+)$")


def of_relation(text: str) -> str:
    """The comment at the top of the definition `text`, on one line."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("--"):
            break
        lines.append(line.removeprefix("--").strip())
    return " ".join(lines)


def of_columns(
    columns: Mapping[str, Sequence[str]],
    text: Callable[[str], str],
    references: Mapping[str, Collection[str]],
) -> dict[str, dict[str, str]]:
    """Relation -> column -> its meaning, or "" if no comment gives one.

    `columns` has the relations' columns, each relation after those that it reads. `text` returns the definition of a
    relation; `references` has the names that it reads."""
    found: dict[str, dict[str, str]] = {}
    earlier: dict[str, str] = {}
    for name, its_columns in columns.items():
        inherited = dict(earlier)
        for source, meanings in found.items():
            if source in references.get(name, ()):
                inherited |= _known(meanings)
        own = _comments(text(name))
        found[name] = {
            column: own.get(column) or inherited.get(column) or end_of_interval(column)
            for column in its_columns
        }
        earlier = _known(found[name]) | earlier
    return found


def end_of_interval(column: str) -> str:
    """The meaning of `x_lo` and `x_hi`; "" for another column."""
    base, _, end = column.rpartition("_")
    if end not in ("lo", "hi"):
        return ""
    return f"{'lower' if end == 'lo' else 'upper'} end of the 95 % interval of {base}"


def comment(
    connection: duckdb.DuckDBPyConnection,
    kinds: Mapping[str, str],
    text: Callable[[str], str],
    references: Mapping[str, Collection[str]],
) -> None:
    """Store the meanings in the database. `kinds`: relation -> TABLE or VIEW, each after those that it reads."""
    ((database,),) = connection.execute("SELECT current_database()").fetchall()
    own = f"{identifier(database)}.main"  # not the temporary tables with which a load hides its own
    there: dict[str, list[str]] = {}
    query = "SELECT table_name, column_name FROM duckdb_columns() WHERE database_name = ? AND schema_name = 'main'"
    for table, column in connection.execute(f"{query} ORDER BY column_index", [database]).fetchall():
        there.setdefault(table, []).append(column)
    meanings = of_columns({name: there[name] for name in kinds}, text, references)
    statements = [
        f"COMMENT ON {kind} {own}.{name} IS {literal(of_relation(text(name)))}"
        for name, kind in kinds.items()
    ]
    statements += [
        f"COMMENT ON COLUMN {own}.{name}.{identifier(column)} IS {literal(meaning)}"
        for name, its_columns in meanings.items()
        for column, meaning in its_columns.items()
        if meaning
    ]
    connection.execute(";\n".join(statements))


def _known(meanings: Mapping[str, str]) -> dict[str, str]:
    return {column: meaning for column, meaning in meanings.items() if meaning}


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
