"""Read custom rules from a user's folder, and refuse files that cannot be rules."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb

from analysis.database import schema
from analysis.database.connections import LOCKED
from analysis.diagnosis import rules
from analysis.diagnosis.rules import Rule
from analysis.errors import AnalysisError

_TYPES = {
    "VARCHAR": ("VARCHAR",),
    "INTEGER": ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"),
    "DOUBLE": ("DOUBLE", "FLOAT", "DECIMAL", "INTEGER", "BIGINT", "HUGEINT"),
}
"""Type of a column of findings -> types that a custom rule may give it."""
_MADE_BY_RULES = {"diagnosis", "findings"}


def check(folder: Path) -> None:
    """Raise AnalysisError if a file cannot be a rule. It needs no rows, so `bench suite` calls it before measuring."""
    custom = read(folder)
    with duckdb.connect() as connection:
        if custom:
            schema.create(connection)
            lock(connection)
            refuse(connection, folder, custom)


def read(folder: Path) -> list[Rule]:
    """The rules in a folder, by name. Raises AnalysisError if there is no folder or a file has no complete head."""
    if not folder.is_dir():
        raise AnalysisError(
            f"{folder}: there is no such folder: --rules (or $BENCH_RULES) names one with rules"
        )
    return rules.read(folder, is_custom=True)


def refuse(connection: duckdb.DuckDBPyConnection, folder: Path, custom: Sequence[Rule]) -> None:
    """Raise AnalysisError for the first file that cannot be a rule. The connection must be locked."""
    for rule in custom:
        if reason := problem(connection, rule):
            raise AnalysisError(f"{folder / rule.finding}.sql: {reason}")


def lock(connection: duckdb.DuckDBPyConnection) -> None:
    """Forbid access to files, extensions and settings through this connection."""
    for name, value in LOCKED.items():
        connection.execute(f"SET {name} = {value}")


def problem(connection: duckdb.DuckDBPyConnection, rule: Rule) -> str | None:
    """Why the file cannot be a rule; None if it can."""
    if reason := misnamed(rule):
        return reason
    try:
        statements = connection.extract_statements(rule.definition)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            return "a rule is one SELECT, and nothing else"
        if circular := _tables(rule.definition) & _MADE_BY_RULES:
            return f"it reads {min(circular)}: a rule must not read what rules have found"
        described = connection.execute(f"DESCRIBE SELECT * FROM (\n{rule.definition}\n)").fetchall()  # noqa: S608
    except duckdb.Error as error:
        return duckdb_message(error)
    return _wrong_columns({name: kind for name, kind, *_ in described})


def misnamed(rule: Rule) -> str | None:
    """Why the rule cannot have its name; None if it can."""
    if not rules.NAME.fullmatch(rule.finding):
        return "its name may contain only a-z, 0-9 and _"
    if rule.finding in {shipped.finding for shipped in schema.shipped_rules()}:
        return "there is a rule of this name already: give the file another one"
    return None


def _tables(definition: str) -> set[str]:
    """Lower-case names of the tables and views that the query reads. An empty database expands no view."""
    with duckdb.connect(config=dict(LOCKED)) as empty:
        return {name.lower() for name in empty.get_table_names(definition)}


def _wrong_columns(found: dict[str, str]) -> str | None:
    if missing := [name for name in rules.REQUIRED if name not in found]:
        return f"its SELECT gives no column {missing[0]}"
    if unknown := [name for name in found if name not in rules.COLUMNS]:
        return f"its SELECT gives a column {unknown[0]}: there may be {', '.join(rules.COLUMNS)}"
    for name, kind in found.items():
        wanted = rules.COLUMNS[name]
        if kind.strip('"') != "NULL" and kind.partition("(")[0] not in _TYPES[wanted]:
            return f"its column {name} is {kind}: it must be {wanted}"
    return None


def duckdb_message(error: duckdb.Error) -> str:
    """The first line of DuckDB's message."""
    return f"DuckDB says: {str(error).splitlines()[0]}"
