"""Run one query on results.duckdb or on the result files. The query can only read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from analysis.database import connections
from analysis.errors import AnalysisError

if TYPE_CHECKING:
    from analysis.loading.load import Problem
    from analysis.sql.query_files import SessionFilter

_READING = ("SELECT", "EXPLAIN", "MULTI")
"""Kinds of statements that return rows. PIVOT is a MULTI; DESCRIBE, SUMMARIZE and SHOW are a SELECT.

The connection itself forbids most others. It allows a PRAGMA that changes only the connection, and a COPY to a file
that it may read: DuckDB allows writing to the files of a read-only database and to all allowed paths."""


@contextmanager
def run(results: Path, query: str) -> Iterator[duckdb.DuckDBPyRelation]:
    """The rows of one statement, not yet fetched. Opening or fetching may raise AnalysisError with DuckDB's message."""
    with connections.reader(results) as connection, _relation(connection, query) as relation:
        yield relation


@contextmanager
def run_on_files(
    results: Path, query: str, only: SessionFilter
) -> Iterator[tuple[duckdb.DuckDBPyRelation, tuple[Problem, ...]]]:
    """The rows of one statement on the result files, without a database, and the files that were left out."""
    from analysis.sql import query_files

    with (
        query_files.reader(results, query, only) as opened,
        _relation(opened.connection, query) as relation,
    ):
        yield relation, opened.problems


@contextmanager
def _relation(connection: duckdb.DuckDBPyConnection, query: str) -> Iterator[duckdb.DuckDBPyRelation]:
    try:
        relation = connection.sql(_only_statement(connection, query))
        if relation is None:
            raise AnalysisError(f"the statement returns no rows: {_shorten(query)}")
        yield relation
    except (AnalysisError, duckdb.InterruptException):
        raise
    except duckdb.Error as error:
        raise AnalysisError(f"query failed: {error}") from error
    except Exception as error:
        import pyarrow as pa  # takes longer than most queries

        if not isinstance(error, OverflowError | ValueError | pa.ArrowException):
            raise
        # years beyond 9999, types that only DuckDB has
        raise AnalysisError(
            f"a value of the result cannot be written: {error}: cast it in the query, as in x::VARCHAR"
        ) from error


def _only_statement(connection: duckdb.DuckDBPyConnection, query: str) -> duckdb.Statement:
    statements = connection.extract_statements(query)
    if len(statements) != 1:
        raise AnalysisError(
            f"give one statement, not {len(statements)}: {_shorten(query) or 'the query is empty'}"
        )
    kind = "COPY" if _copies(query) else statements[0].type.name
    if kind not in _READING:
        raise AnalysisError(
            f"{kind} is refused: a query can only read, because `bench load` makes the database from files. Start it "
            "with SELECT, FROM, WITH, DESCRIBE, SUMMARIZE, SHOW or EXPLAIN"
        )
    return statements[0]


def _copies(query: str) -> bool:
    """Whether the query contains a COPY: EXPLAIN ANALYZE runs it, and so does a SELECT with one in its WITH. DuckDB
    itself refuses it in the text of query()."""
    text = query.encode()  # positions count bytes
    return any(
        kind == duckdb.token_type.keyword and text[begin : begin + 4].upper() == b"COPY"
        for begin, kind in duckdb.tokenize(query)
    )


def _shorten(query: str) -> str:
    text = " ".join(query.split())
    return text if len(text) <= 80 else f"{text[:77]}..."
