"""What the shipped rules find, stored at load: asked once of each session that came, and again of those whose place
among other sessions has changed. Runs inside the load's transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

import duckdb

from analysis import focus, schema
from analysis.rules import Rule

_SHARED = {*schema.SHARED_TABLES} - {"sessions"} | {focus.HISTORY}
"""A rule that reads one of them compares sessions."""


def remember(connection: duckdb.DuckDBPyConnection, leaving: Sequence[str]) -> None:
    """Before these sessions' rows are deleted: what others' findings may hang on."""
    connection.execute(schema.text("ingest/outgoing_sessions"), {"ids": list(leaving)})
    connection.execute(schema.text("ingest/outgoing_rates"))


def diagnose(connection: duckdb.DuckDBPyConnection) -> None:
    """Ask the shipped rules of the sessions that were inserted last; those that read other sessions of all whose place
    among them has changed. Rules of one's own are noted as due for these."""
    connection.execute(schema.text("ingest/affected_sessions"))
    connection.execute(schema.text("ingest/rules_due"))
    incoming, affected = (_names(connection, table) for table in ("incoming_sessions", "affected_sessions"))
    rules = schema.shipped_rules()
    comparing = [rule for rule in rules if reads(rule) & _SHARED]
    if set(affected) - set(incoming):
        find(connection, affected, comparing)
        rules = [rule for rule in rules if rule not in comparing]
    find(connection, incoming, rules)


def _names(connection: duckdb.DuckDBPyConnection, table: str) -> list[str]:
    found = connection.execute(f"SELECT session_id FROM {table} ORDER BY session_id").fetchall()  # noqa: S608
    return [name for (name,) in found]


def find(connection: duckdb.DuckDBPyConnection, sessions: Sequence[str], rules: Sequence[Rule]) -> None:
    """Make what these rules find in these sessions anew."""
    if not sessions:
        return
    names = [rule.finding for rule in rules]
    delete = "DELETE FROM findings WHERE session_id IN (SELECT unnest($1)) AND list_contains($2, finding)"
    connection.execute(delete, [list(sessions), names])
    with focused(connection, sessions, rules), focus.made(connection, shared_views(rules)):
        for rule in rules:
            ask(connection, rule)


@contextmanager
def focused(
    connection: duckdb.DuckDBPyConnection, sessions: Sequence[str], rules: Iterable[Rule]
) -> Iterator[None]:
    """On these sessions, with their history where one of the rules reads it: no view takes longer to plan."""
    with ExitStack() as stack:
        if any(focus.HISTORY in reads(rule) for rule in rules):
            stack.enter_context(focus.history(connection, sessions))
        stack.enter_context(focus.on(connection, sessions))
        yield


def ask(connection: duckdb.DuckDBPyConnection, rule: Rule) -> None:
    """Add what a rule finds in the sessions of the focus."""
    text = schema.text("ingest/findings").format(finding=rule.finding, definition=rule.definition)
    connection.execute(text)


def reads(rule: Rule) -> set[str]:
    """Everything that it reads from or calls, by way of views, too."""
    return schema.reached_from(rule.reads())


def shared_views(rules: Iterable[Rule]) -> list[str]:
    """Views that are worth a table: read by several rules or views of theirs, each after those that it reads."""
    known = schema.references()
    views = set(schema.view_files()) - {focus.HISTORY}
    rules = list(rules)
    needed = set().union(*(reads(rule) for rule in rules)) & views
    readers = Counter(name for rule in rules for name in rule.reads())
    readers.update(name for view in needed for name in known[view] if name != view)
    return [view for view in schema.view_files() if view in needed and readers[view] > 1]
