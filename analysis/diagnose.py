"""What the shipped rules find, stored at load. Runs inside the load's transaction."""

from __future__ import annotations

import duckdb

from analysis import schema
from analysis.rules import Rule


def ask_again(connection: duckdb.DuckDBPyConnection, rule: Rule) -> None:
    """Put what a rule finds now in the place of what it found before."""
    connection.execute(f"DELETE FROM {schema.FOUND_TABLE} WHERE finding = $1", [rule.finding])  # noqa: S608
    ask(connection, rule)


def ask(connection: duckdb.DuckDBPyConnection, rule: Rule, table: str = schema.FOUND_TABLE) -> None:
    """Add what a rule finds to the table of findings."""
    query = schema.text("findings_of_rule")
    connection.execute(query.format(table=table, finding=rule.finding, definition=rule.definition))


def compares_sessions(rule: Rule) -> bool:
    """Whether it reads rows of one session to say something of another, by way of views, too."""
    return not schema.reached_from(rule.reads()).isdisjoint(schema.COMPARED_TABLES)
