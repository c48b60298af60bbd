"""Fill the derived tables, inside the load's transaction."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import duckdb

from analysis.database import schema
from analysis.database.overlay import Overlay, overlay
from analysis.database.rows import insert_rows
from analysis.diagnosis import run_rules
from analysis.diagnosis.rules import Rule
from analysis.laws.fit_rows import fit_laws
from analysis.levels.change_rows import find_changes


def derive_runs(connection: duckdb.DuckDBPyConnection) -> None:
    """Derive RUN_TABLES from the tables that the connection sees; these must have all rows of their runs."""
    with overlay(connection) as hiding:
        for table in schema.RUN_TABLES:
            with schema.errors_name(table):
                hiding.derive(table, schema.text(table))


def derive_and_diagnose(
    connection: duckdb.DuckDBPyConnection,
    sessions: Sequence[str],
    rules: Sequence[Rule],
    wanted: Collection[str] | None = None,
) -> None:
    """Derive the other tables from all rows of these sessions, and store what the rules find in them.

    A rule that compares sessions runs on all sessions. `wanted` limits the derived tables to those that these tables
    and views read."""
    is_new = not schema.is_complete(connection)
    if sessions:
        with overlay(connection) as hiding:
            hiding.show_only(sessions)
            _derive_sessions(hiding, wanted)
            if is_new:
                schema.complete(connection)
            run_rules.find_in_sessions(hiding, rules)
    elif is_new:
        schema.complete(connection)
    if wanted is None or "history_points" in schema.reached_from(wanted):
        find_changes(connection)
    run_rules.find_across_sessions(connection, rules)
    run_rules.advise_commands(connection)


def _derive_sessions(hiding: Overlay, wanted: Collection[str] | None) -> None:
    needed = None if wanted is None else schema.reached_from(wanted)
    for table in schema.derived_of_sessions():
        if needed is not None and table not in needed:
            continue
        if table == schema.FITTED_TABLE:
            hiding.create("TABLE", table, f"FROM {hiding.stored(table)} LIMIT 0")
            insert_rows(hiding.connection, table, fit_laws(hiding.connection))
            hiding.store(table)
        else:
            with schema.errors_name(table):
                hiding.derive(table, schema.text(table))
