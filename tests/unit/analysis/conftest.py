"""Sessions on disk, loaded, and asked."""

from __future__ import annotations

import functools
import math
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

from analysis.database import connections, schema
from analysis.diagnosis.rules import Rule
from analysis.loading import insert, read_files
from analysis.loading.derive import derive_and_diagnose, derive_runs
from analysis.loading.load import LoadReport, Problem, load
from analysis.loading.scan import discover
from analysis.sql.query_files import tables_read
from tests.factory import Case, make_session

Rows = list[dict[str, Any]]
Ask = Callable[[str], Rows]


def fetch(connection: duckdb.DuckDBPyConnection, query: str) -> Rows:
    """A query's rows, as dictionaries."""
    result = connection.execute(query)
    names = [column[0] for column in result.description or []]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def ask(results: Path, query: str) -> Rows:
    """The same for a results folder's database."""
    with connections.reader(results) as connection:
        return fetch(connection, query)


def alike(rows: list[dict[str, Any]], others: list[dict[str, Any]]) -> bool:
    """Whether the rows agree in any order; sums and fits depend on the order in which threads add."""
    return len(rows) == len(others) and all(
        one.keys() == other.keys() and all(_equal(one[name], other[name]) for name in one)
        for one, other in zip(sorted(rows, key=_order), sorted(others, key=_order), strict=True)
    )


def _order(row: dict[str, Any]) -> tuple[str, str]:
    exact = {name: value for name, value in row.items() if not isinstance(value, float)}
    return repr(exact), repr([f"{value:.4g}" for value in row.values() if isinstance(value, float)])


def _equal(one: Any, other: Any) -> bool:
    if not isinstance(one, float) or not isinstance(other, float) or math.isnan(one):
        return repr(one) == repr(other)
    return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-6)


def named(results: Path) -> Problem:
    """The one problem that reading finds, without a database: enough if the test queries nothing."""
    seen = read_files.read(discover(results), {}).seen
    (problem,) = [Problem(path=row["path"], reason=row["problem"]) for row in seen if row["problem"]]
    return problem


def take_in(
    connection: duckdb.DuckDBPyConnection,
    batch: read_files.Batch,
    rules: Sequence[Rule] = (),
    portion_rows: int = insert.PORTION_ROWS,
) -> None:
    """Insert the files' rows, derive everything from them, and add the findings of these rules."""
    insert.insert(connection, batch, portion_rows)
    derive_and_diagnose(connection, batch.sessions(), rules)


def derive_again(connection: duckdb.DuckDBPyConnection, rules: Sequence[Rule] = ()) -> None:
    """Delete all derived rows and findings, and derive them from the other tables, which a test has changed."""
    for table in (*schema.derived(), schema.FOUND_TABLE):
        connection.execute(f"DELETE FROM {table}")
    derive_runs(connection)
    sessions = connection.execute("SELECT session_id FROM sessions ORDER BY session_id").fetchall()
    derive_and_diagnose(connection, [name for (name,) in sessions], rules)


@functools.cache
def _empty() -> bytes:
    """A database without rows: making one takes longer than filling it."""
    with tempfile.TemporaryDirectory() as folder:
        load(Path(folder))
        return connections.database_path(Path(folder)).read_bytes()


def load_first(results: Path) -> LoadReport:
    """Load into a new database, in half the time that `load` takes."""
    connections.database_path(results).write_bytes(_empty())
    return load(results)


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder with nothing but a database."""
    folder = tmp_path_factory.mktemp("empty")
    connections.database_path(folder).write_bytes(_empty())
    return folder


@pytest.fixture
def results(tmp_path: Path, empty: Path) -> Path:
    return Path(shutil.copytree(empty, tmp_path / "results"))


@pytest.fixture(scope="session")
def in_memory() -> Iterator[duckdb.DuckDBPyConnection]:
    """A database without a file, for tests of the views and not of the load."""
    with duckdb.connect() as connection:
        schema.create(connection)
        yield connection


def _deriving(connection: duckdb.DuckDBPyConnection, sessions: Sequence[str]) -> Ask:
    """A function that derives the tables that a query reads, and no others, before it asks."""
    derived: set[str] = set()

    def ask(query: str) -> Rows:
        needed = tables_read(query) & {*schema.derived_of_sessions()}
        if not needed <= derived:
            for table in needed:
                connection.execute(f"DELETE FROM {table}")
            derive_and_diagnose(connection, sessions, (), wanted=needed)
            derived.update(needed)
        return fetch(connection, query)

    return ask


@pytest.fixture
def read_back(results: Path, in_memory: duckdb.DuckDBPyConnection) -> Iterator[Callable[..., Ask]]:
    """`read_back()` takes in the results folder's files, asks these rules, and returns a function that queries them;
    `problems` are all expected messages about the files."""

    def run(problems: Iterable[str] = (), rules: Sequence[Rule] = ()) -> Ask:
        found = read_files.read(discover(results), {})
        assert {row["problem"] for row in found.seen if row["problem"]} == set(problems)
        if rules:
            take_in(in_memory, found, rules)
            return lambda query: fetch(in_memory, query)
        insert.insert(in_memory, found)
        return _deriving(in_memory, found.sessions())

    in_memory.begin()
    yield run
    in_memory.rollback()


@pytest.fixture
def measure(results: Path, read_back: Callable[[], Ask]) -> Callable[..., Ask]:
    """`measure(cases...)` writes a session and returns a function that queries it."""

    def run(*cases: Case, **session: Any) -> Ask:
        make_session(results, cases, **session)
        return read_back()

    return run
