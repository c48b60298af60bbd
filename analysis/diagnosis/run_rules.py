"""Run rules of diagnosis and store what they find, inside the load's transaction."""

from __future__ import annotations

from collections.abc import Iterable

import duckdb

from analysis.database import schema
from analysis.database.overlay import Overlay
from analysis.diagnosis.rules import Rule


def find_in_sessions(hiding: Overlay, rules: Iterable[Rule]) -> None:
    """Run the rules that say something of one session alone, on the sessions that the overlay shows."""
    for rule in rules:
        if not compares_sessions(rule):
            _find(hiding.connection, rule, hiding.stored(schema.FOUND_TABLE))


def find_across_sessions(connection: duckdb.DuckDBPyConnection, rules: Iterable[Rule]) -> None:
    """Run the rules that compare sessions, on all sessions: one that came or went may change what they find."""
    for rule in rules:
        if compares_sessions(rule):
            find_again(connection, rule)


def find_again(connection: duckdb.DuckDBPyConnection, rule: Rule) -> None:
    """Replace what a rule found before."""
    connection.execute(f"DELETE FROM {schema.FOUND_TABLE} WHERE finding = $1", [rule.finding])  # noqa: S608
    _find(connection, rule, schema.FOUND_TABLE)


def _find(connection: duckdb.DuckDBPyConnection, rule: Rule, table: str) -> None:
    query = schema.text("findings_of_rule")
    connection.execute(query.format(table=table, finding=rule.finding, definition=rule.definition))


def compares_sessions(rule: Rule) -> bool:
    """Whether it reads rows of other sessions than the one that it says something of, directly or through views."""
    return not schema.reached_from(rule.reads()).isdisjoint(schema.COMPARED_TABLES)
