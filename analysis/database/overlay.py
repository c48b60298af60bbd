"""Temporary views and tables that hide the database's own tables of the same names.

A query of derived/ or of a rule then sees only the rows of some sessions, and is as fast as in a database without the
others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property

import duckdb

from analysis.database import schema
from analysis.database.sql_text import identifier, literal

_ORDERED = "planned_runs"
"""This must be a table: its rowid is the order of the plan, and a view has no rowid."""


class Overlay:
    """The temporary views and tables of one connection."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection
        self._created: dict[str, str] = {}
        ((database,),) = connection.execute("SELECT current_database()").fetchall()
        self._database = identifier(database)

    @cached_property
    def _stored(self) -> set[str]:
        """The database's tables before the first one is derived."""
        return schema.existing_tables(self.connection)

    def stored(self, table: str) -> str:
        """The full name of the database's own table."""
        return f"{self._database}.main.{table}"

    def create(self, kind: str, name: str, query: str) -> None:
        """Hide the table `name` behind a temporary VIEW or TABLE of the query's rows, also if it is hidden already."""
        self.connection.execute(f"CREATE OR REPLACE TEMP {kind} {name} AS {query}")
        self._created[name] = kind

    def store(self, name: str) -> None:
        """Append the rows of the temporary view or table to the table that it hides."""
        self.connection.execute(f"INSERT INTO {self.stored(name)} BY NAME FROM temp.{name}")

    def derive(self, name: str, query: str) -> None:
        """Append the query's rows to the table `name`, and hide its other rows. Create the table if it is missing."""
        if name in self._stored:
            self.create("TABLE", name, query)
            self.store(name)
        else:
            self.connection.execute(f"CREATE TABLE {self.stored(name)} AS {query}")

    def show_only(self, sessions: Sequence[str]) -> None:
        """Hide the rows of all other sessions in every table that is not derived from whole sessions."""
        others = "SELECT count(*) FROM sessions WHERE NOT list_contains($1, session_id)"
        if self.connection.execute(others, [list(sessions)]).fetchall() == [(0,)]:
            return
        condition = f"session_id IN ({', '.join(map(literal, sessions))})"
        for table in (*schema.SESSION_TABLES, *schema.RUN_TABLES):
            self.show(table, condition)

    def show(self, table: str, condition: str) -> None:
        """Hide the rows of a table or view that do not meet the condition."""
        kind = "TABLE" if table == _ORDERED else "VIEW"
        self.create(kind, table, f"FROM {self.stored(table)} WHERE {condition}")

    def drop(self) -> None:
        """Drop everything that was created, the newest first."""
        for name, kind in reversed(self._created.items()):
            self.connection.execute(f"DROP {kind} temp.{name}")


@contextmanager
def overlay(connection: duckdb.DuckDBPyConnection) -> Iterator[Overlay]:
    """An overlay that is dropped at the end of the block. If the block raises, the transaction's rollback drops it."""
    found = Overlay(connection)
    yield found
    found.drop()
