"""Temporary views and tables that stand before the database's own of the same names: a query of derived/ or of a rule
sees the rows of some sessions alone, and costs what it would in a database that holds no others.

What is laid is dropped where its block ends well. Where it raises, the transaction's rollback drops it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import duckdb

from analysis import schema
from analysis.sql_words import identifier, literal

_ORDERED = "planned_runs"
"""Its rowid is the order of the plan: a view would have none."""


class Shadows:
    """What stands before the tables of a database."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._laid: dict[str, str] = {}
        ((database,),) = connection.execute("SELECT current_database()").fetchall()
        self._database = identifier(database)

    def stored(self, table: str) -> str:
        """The name of the database's own table."""
        return f"{self._database}.main.{table}"

    def lay(self, kind: str, name: str, rows: str) -> None:
        """A VIEW or a TABLE of the rows that a query gives."""
        self._connection.execute(f"CREATE TEMP {kind} {name} AS {rows}")
        self._laid[name] = kind

    def store(self, name: str) -> None:
        """Add the rows that stand before a table to it."""
        self._connection.execute(f"INSERT INTO {self.stored(name)} BY NAME FROM temp.{name}")

    def lay_sessions(self, sessions: Sequence[str]) -> None:
        """These sessions' rows of all tables that nothing of a whole session is derived for."""
        condition = f"session_id IN ({', '.join(map(literal, sessions))})" if sessions else "false"
        for table in (*schema.SESSION_TABLES, *schema.RUN_TABLES):
            kind = "TABLE" if table == _ORDERED else "VIEW"
            self.lay(kind, table, f"FROM {self.stored(table)} WHERE {condition}")

    def drop(self) -> None:
        """All of them, the last first."""
        for name, kind in reversed(self._laid.items()):
            self._connection.execute(f"DROP {kind} temp.{name}")


@contextmanager
def shadows(connection: duckdb.DuckDBPyConnection) -> Iterator[Shadows]:
    """Drop at the end what was laid inside the block."""
    found = Shadows(connection)
    yield found
    found.drop()
