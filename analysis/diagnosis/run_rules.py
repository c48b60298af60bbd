"""Run rules of diagnosis and store what they find, inside the load's transaction."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from functools import cache

import duckdb

from analysis.database import schema
from analysis.database.overlay import Overlay
from analysis.diagnosis.rules import Rule


def find_in_sessions(hiding: Overlay, rules: Iterable[Rule]) -> None:
    """Run the rules that look at each session alone, on the sessions that the overlay shows."""
    for rule in rules:
        if not compares_sessions(rule):
            _find(hiding.connection, rule, hiding.stored(schema.FOUND_TABLE))


def find_across_sessions(connection: duckdb.DuckDBPyConnection, rules: Iterable[Rule]) -> None:
    """Run the rules that compare sessions, on all sessions: a new or removed session may change what they find."""
    query = "SELECT max(sessions) FROM (SELECT count(*) AS sessions FROM sessions GROUP BY suite)"
    ((most_of_a_suite,),) = connection.execute(query).fetchall()
    for rule in rules:
        if compares_sessions(rule):
            _forget(connection, rule)
            # Planning a rule about regressions takes a twentieth of the load, even if it can find nothing.
            least = max(schema.LEAST_SESSIONS.get(view, 0) for view in rule.reads())
            if (most_of_a_suite or 0) >= least:
                _find(connection, rule, schema.FOUND_TABLE)


def advise_commands(connection: duckdb.DuckDBPyConnection) -> None:
    """Give cases that run a command advice that they can follow, except in findings of custom rules."""
    connection.execute(schema.text("findings_of_commands"))


def find_again(connection: duckdb.DuckDBPyConnection, rule: Rule) -> None:
    """Replace what a rule found before."""
    _forget(connection, rule)
    _find(connection, rule, schema.FOUND_TABLE)


def _forget(connection: duckdb.DuckDBPyConnection, rule: Rule) -> None:
    connection.execute(f"DELETE FROM {schema.FOUND_TABLE} WHERE finding = $1", [rule.finding])  # noqa: S608


def _find(connection: duckdb.DuckDBPyConnection, rule: Rule, table: str) -> None:
    query = schema.text("findings_of_rule")
    with nullcontext() if rule.is_custom else schema.errors_name(rule.finding):
        connection.execute(query.format(table=table, finding=rule.finding, definition=rule.definition))


@cache
def compares_sessions(rule: Rule) -> bool:
    """Whether findings about a session depend on rows of other sessions, read directly or through views."""
    return not schema.reached_from(rule.reads()).isdisjoint(schema.COMPARED_TABLES)
