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

from analysis import batch, database, ingest, schema
from analysis.discover import discover
from analysis.load import LoadReport, Problem, load
from analysis.rules import Rule
from tests.factory import Case, make_session

Rows = list[dict[str, Any]]
Ask = Callable[[str], Rows]


def fetch(connection: duckdb.DuckDBPyConnection, query: str) -> Rows:
    """A query's rows, as dictionaries."""
    result = connection.execute(query)
    names = [column[0] for column in result.description or []]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def ask(results: Path, query: str) -> Rows:
    """The same of a results folder's database."""
    with database.reader(results) as connection:
        return fetch(connection, query)


def alike(rows: list[dict[str, Any]], others: list[dict[str, Any]]) -> bool:
    """Whatever their order; sums and what is fitted to them hang on the order in which threads add."""
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
    """The one problem that reading finds, without a database: enough where nothing is asked of it."""
    ledger = batch.read(discover(results), {}).ledger
    (problem,) = [Problem(path=row["path"], reason=row["problem"]) for row in ledger if row["problem"]]
    return problem


@functools.cache
def _empty() -> bytes:
    """A database without rows: making one takes longer than filling it."""
    with tempfile.TemporaryDirectory() as folder:
        load(Path(folder))
        return database.database_path(Path(folder)).read_bytes()


def load_first(results: Path) -> LoadReport:
    """As `load` does where there is no database yet, in half the time."""
    database.database_path(results).write_bytes(_empty())
    return load(results)


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder with nothing but a database."""
    folder = tmp_path_factory.mktemp("empty")
    database.database_path(folder).write_bytes(_empty())
    return folder


@pytest.fixture
def results(tmp_path: Path, empty: Path) -> Path:
    return Path(shutil.copytree(empty, tmp_path / "results"))


@pytest.fixture(scope="session")
def in_memory() -> Iterator[duckdb.DuckDBPyConnection]:
    """A database without a file: for tests of what the views say, and not of the load."""
    with duckdb.connect() as connection:
        schema.create(connection)
        yield connection


@pytest.fixture
def read_back(results: Path, in_memory: duckdb.DuckDBPyConnection) -> Iterator[Callable[..., Ask]]:
    """`read_back()` takes the results folder's files in, asks these rules, and returns a function that queries them;
    `problems` are all that is said of the files."""

    def run(problems: Iterable[str] = (), rules: Sequence[Rule] = ()) -> Ask:
        found = batch.read(discover(results), {})
        assert {row["problem"] for row in found.ledger if row["problem"]} == set(problems)
        ingest.insert(in_memory, found, rules)
        return lambda query: fetch(in_memory, query)

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
