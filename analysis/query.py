"""One query on results.duckdb that can read and do nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from analysis import database
from analysis.errors import AnalysisError

if TYPE_CHECKING:
    from analysis.direct import Chosen
    from analysis.load import Problem

_READING = ("SELECT", "EXPLAIN", "MULTI")
"""Kinds of statements that show something; PIVOT is a MULTI, DESCRIBE, SUMMARIZE and SHOW are a SELECT. The connection
forbids the rest by itself too, except a PRAGMA that keeps what it is told to itself and a COPY to a file that it may
read: of a database opened to be read DuckDB lets its own files be written, and of allowed paths each."""


@contextmanager
def run(results: Path, query: str) -> Iterator[duckdb.DuckDBPyRelation]:
    """The rows of one statement, not yet fetched. Raises AnalysisError in DuckDB's words, also while fetching."""
    with database.reader(results) as connection, _asked(connection, query) as relation:
        yield relation


@contextmanager
def run_direct(
    results: Path, query: str, chosen: Chosen
) -> Iterator[tuple[duckdb.DuckDBPyRelation, tuple[Problem, ...]]]:
    """The same without a database, and the files that were left out."""
    from analysis import direct

    with (
        direct.reader(results, query, chosen) as opened,
        _asked(opened.connection, query) as relation,
    ):
        yield relation, opened.problems


@contextmanager
def _asked(connection: duckdb.DuckDBPyConnection, query: str) -> Iterator[duckdb.DuckDBPyRelation]:
    try:
        relation = connection.sql(_only_statement(connection, query))
        if relation is None:
            raise AnalysisError(f"the statement gives no rows: {_shorten(query)}")
        yield relation
    except (AnalysisError, duckdb.InterruptException):
        raise
    except duckdb.Error as error:
        raise AnalysisError(f"query failed: {error}") from error
    except Exception as error:
        import pyarrow as pa  # takes longer than most queries

        if not isinstance(error, OverflowError | ValueError | pa.ArrowException):
            raise
        # years beyond 9999, types of DuckDB alone
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
            f"{kind} is refused: the database is only read here, because the files are the truth. Start the query "
            "with SELECT, FROM, WITH, DESCRIBE, SUMMARIZE, SHOW or EXPLAIN"
        )
    return statements[0]


def _copies(query: str) -> bool:
    """Whether a COPY stands anywhere: an EXPLAIN ANALYZE does it, and so does a SELECT with one in its WITH. DuckDB
    refuses it in the text of query()."""
    text = query.encode()  # positions are those of bytes
    return any(
        kind == duckdb.token_type.keyword and text[begin : begin + 4].upper() == b"COPY"
        for begin, kind in duckdb.tokenize(query)
    )


def _shorten(query: str) -> str:
    text = " ".join(query.split())
    return text if len(text) <= 80 else f"{text[:77]}..."
