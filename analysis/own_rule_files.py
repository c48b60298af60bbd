"""Rules of diagnosis that a user adds: read, tried, and brought into the database."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb

from analysis import rules, schema
from analysis.database import LOCKED, transaction
from analysis.errors import AnalysisError
from analysis.rules import Rule


def read(folder: Path) -> list[Rule]:
    """Of a folder's files, by name. Raises AnalysisError where one cannot be a rule: it names the file and why."""
    if not folder.is_dir():
        raise AnalysisError(
            f"{folder}: there is no such folder: --rules (or $BENCH_RULES) names one with rules"
        )
    shipped = {rule.finding for rule in schema.shipped_rules()}
    own = rules.read(folder, is_own=True)
    for rule in own:
        place = folder / f"{rule.finding}.sql"
        if rule.finding in shipped:
            raise AnalysisError(f"{place}: there is a rule of this name already: give the file another one")
        if problem := _problem(rule):
            raise AnalysisError(f"{place}: {problem}")
    return own


def _problem(rule: Rule) -> str | None:
    """Why it cannot be one: tried where no file, extension or setting can be reached."""
    with duckdb.connect() as connection:
        schema.create(connection)
        for name, value in LOCKED.items():
            connection.execute(f"SET {name} = {value}")
        try:
            statements = connection.extract_statements(rule.definition)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                return "a rule is one SELECT, and nothing else"
            found = connection.execute(f"DESCRIBE SELECT * FROM (\n{rule.definition}\n)").fetchall()  # noqa: S608
            if missing := [name for name in rules.REQUIRED if name not in {row[0] for row in found}]:
                return f"its SELECT gives no column {missing[0]}"
            if unknown := [row[0] for row in found if row[0] not in rules.COLUMNS]:
                return f"its SELECT gives a column {unknown[0]}: there may be {', '.join(rules.COLUMNS)}"
            schema.create_rules(connection, [*schema.shipped_rules(), rule])
        except duckdb.Error as error:
            return f"DuckDB says: {str(error).splitlines()[0]}"
    return None


def bring_up_to(connection: duckdb.DuckDBPyConnection, own: Sequence[Rule]) -> None:
    """Make the database's rules the shipped ones and these, where they are not."""
    there = connection.execute("SELECT finding, definition FROM diagnosis_rules WHERE is_own").fetchall()
    if set(there) != {(rule.finding, rule.definition) for rule in own}:
        with transaction(connection):
            schema.create_rules(connection, [*schema.shipped_rules(), *own])
