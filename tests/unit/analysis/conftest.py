"""Sessions on disk, loaded, and asked."""

from __future__ import annotations

import functools
import math
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pytest

from analysis.database import connections, schema
from analysis.diagnosis.rules import Rule
from analysis.loading import insert, read_files
from analysis.loading.derive import derive_and_diagnose, derive_runs
from analysis.loading.load import load
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


def take_in(
    connection: duckdb.DuckDBPyConnection,
    batch: read_files.Incoming,
    rules: Sequence[Rule] = (),
    portion_rows: int = insert.PORTION_ROWS,
) -> None:
    """Insert the files' rows, derive everything from them, and add the findings of these rules."""
    insert.insert(connection, batch, portion_rows)
    derive_and_diagnose(connection, batch.sessions(), rules)


def add_labelled(batch: read_files.Incoming, other: read_files.Incoming, label: str) -> None:
    """Add the other batch's sessions, whose ids and suites become LABELID: many tests can share a database."""
    for table, rows in other.rows.items():
        renamed = [
            {name: label + row[name] for name in ("session_id", "suite") if row.get(name)} for row in rows
        ]
        batch.extend(table, [row | new for row, new in zip(rows, renamed, strict=True)])
    batch.files += [replace(file, session_id=label + file.session_id) for file in other.files]
    batch.seen += [row | {"folder": label + row["folder"], "path": label + row["path"]} for row in other.seen]


def derive_again(connection: duckdb.DuckDBPyConnection, rules: Sequence[Rule] = ()) -> None:
    """Delete all derived rows and findings, and derive them from the other tables, which a test has changed."""
    for table in (*schema.derived(), schema.FOUND_TABLE):
        connection.execute(f"DELETE FROM {table}")
    derive_runs(connection)
    sessions = connection.execute("SELECT session_id FROM sessions ORDER BY session_id").fetchall()
    derive_and_diagnose(connection, [name for (name,) in sessions], rules)


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder with nothing but a database."""
    folder = tmp_path_factory.mktemp("empty")
    load(folder)
    return folder


@pytest.fixture
def results(tmp_path: Path, empty: Path) -> Path:
    return Path(shutil.copytree(empty, tmp_path / "results"))


@pytest.fixture(scope="session")
def loaded(empty: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder with one loaded session, `a`, of 36 step rows: tests read it, and change a copy."""
    folder = Path(shutil.copytree(empty, tmp_path_factory.mktemp("loaded"), dirs_exist_ok=True))
    make_session(folder, [Case(name="ddp", step_ms={1: 4.0, 2: 2.0}, repeats=1)], session_id="a")
    load(folder)
    return folder


@pytest.fixture
def without_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """A load runs no rule that ships, which takes a third of its time."""
    monkeypatch.setattr(schema, "shipped_rules", lambda: ())


@pytest.fixture(scope="session")
def in_memory() -> Iterator[duckdb.DuckDBPyConnection]:
    """A database without a file, for tests of the views and not of the load."""
    with duckdb.connect() as connection:
        schema.create(connection)
        yield connection


@pytest.fixture(autouse=True)
def _no_unfinished_result(request: pytest.FixtureRequest) -> Iterator[None]:
    """`fetchone` leaves one, and the next test cannot register a table."""
    yield
    if "in_memory" in request.fixturenames:
        request.getfixturevalue("in_memory").execute("SELECT 1").fetchall()


def _deriving(
    connection: duckdb.DuckDBPyConnection, sessions: Sequence[str], rules: Sequence[Rule] = ()
) -> Ask:
    """A function that derives what a query reads, and nothing else, before it asks."""
    filled: set[str] = set()

    def ask(query: str) -> Rows:
        read = tables_read(query)
        asked = rules if schema.FOUND_TABLE in read else ()
        read = schema.reached_from([*read, *(name for rule in asked for name in rule.reads())])
        needed = read & {*schema.derived_of_sessions(), schema.FOUND_TABLE}
        if not needed <= filled:
            for table in needed:
                connection.execute(f"DELETE FROM {table}")
            derive_and_diagnose(connection, sessions, asked, wanted=needed)
            filled.update(needed)
        return fetch(connection, query)

    return ask


def read_into(
    connection: duckdb.DuckDBPyConnection,
    results: Path,
    problems: Iterable[str] = (),
    rules: Sequence[Rule] = (),
) -> Ask:
    """Insert the rows of the folder's files, without a load, and return a function that queries them."""
    found = read_files.read(discover(results), {})
    assert {row["problem"] for row in found.seen if row["problem"]} == set(problems)
    insert.insert(connection, found)
    return _deriving(connection, found.sessions(), rules)


@pytest.fixture
def read_back(results: Path, in_memory: duckdb.DuckDBPyConnection) -> Iterator[Callable[..., Ask]]:
    """`read_back()` takes in the results folder's files, asks these rules, and returns a function that queries them;
    `problems` are all expected messages about the files."""
    in_memory.begin()
    yield functools.partial(read_into, in_memory, results)
    in_memory.rollback()


@pytest.fixture(scope="module")
def read_once(in_memory: duckdb.DuckDBPyConnection) -> Iterator[Callable[..., Ask]]:
    """`read_once(results)` does the same once for all tests of a module, which then cannot use `read_back`."""
    in_memory.begin()
    yield functools.partial(read_into, in_memory)
    in_memory.rollback()


@pytest.fixture
def measure(results: Path, read_back: Callable[[], Ask]) -> Callable[..., Ask]:
    """`measure(cases...)` writes a session and returns a function that queries it."""

    def run(*cases: Case, **session: Any) -> Ask:
        make_session(results, cases, **session)
        return read_back()

    return run


Write = Callable[[Path, str], object]
"""A function that writes sessions, whose names begin with a text, into a folder."""


def session_of(*cases: Case, changed: Callable[[Path], object] = Path, **session: Any) -> Write:
    """Writes a session of these cases and calls `changed` with its folder. It is the only one of its suite."""

    def write(results: Path, name: str) -> None:
        changed(make_session(results, cases, **{"session_id": name, "suite": name, **session}))

    return write


def asks(write: Write) -> pytest.MarkDecorator:
    """The test's `ask` queries these sessions, as if there were no others. All such sessions of a module are written
    and derived together, in a fraction of the time that `measure` takes; a test must not change them. Parameters named
    `ask` do the same."""
    return pytest.mark.parametrize("ask", [write], indirect=True, ids=[pytest.HIDDEN_PARAM])


def measured(*cases: Case, **options: Any) -> pytest.MarkDecorator:
    return asks(session_of(*cases, **options))


def loads(write: Write) -> pytest.MarkDecorator:
    """The test's `stored` is this session in a database with all findings. All such sessions of a folder of tests are
    written and loaded together, so rules that compare sessions must find nothing between them. Parameters named
    `stored` do the same."""
    return pytest.mark.parametrize("stored", [write], indirect=True, ids=[pytest.HIDDEN_PARAM])


def stored_as(*cases: Case, **options: Any) -> pytest.MarkDecorator:
    return loads(session_of(*cases, **options))


def _write_all(request: pytest.FixtureRequest, tests: Path, parameter: str, folder: Path) -> dict[Write, str]:
    """Write the sessions of all tests of a module or folder with this parameter; the prefixes of their names."""
    callspecs = [
        getattr(item, "callspec", None)
        for item in request.session.items
        if tests in (item.path, item.path.parent)
    ]
    written = dict.fromkeys(spec.params[parameter] for spec in callspecs if spec and parameter in spec.params)
    prefixes = {write: f"m{number}-" for number, write in enumerate(written)}
    for write, prefix in prefixes.items():
        write(folder, prefix)
    return prefixes


@pytest.fixture(scope="package")
def stored_together(
    request: pytest.FixtureRequest, empty: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[Write, str]]:
    """A results folder, loaded, and the names of its sessions. It also has the sessions that each module's function
    `write_sessions` writes."""
    folder = Path(shutil.copytree(empty, tmp_path_factory.mktemp("together"), dirs_exist_ok=True))
    tests = request.path.parent
    names = _write_all(request, tests, "stored", folder)
    modules = {item.path: getattr(item, "module", None) for item in request.session.items}
    for path, module in modules.items():
        if path.parent == tests and hasattr(module, "write_sessions"):
            module.write_sessions(folder)
    assert load(folder).problems == ()
    return folder, names


@pytest.fixture(scope="package")
def shared(stored_together: tuple[Path, dict[Write, str]]) -> Path:
    """The results folder with the sessions of all modules of a folder of tests. A module that has a function
    `write_sessions(results)` adds its own, with names and suites that no other module has."""
    return stored_together[0]


class Stored(NamedTuple):
    """A loaded session."""

    results: Path
    session_id: str

    def ask(self, query: str) -> Rows:
        """Rows of a query about `$session`."""
        with connections.reader(self.results) as connection:
            return fetch(connection, query.replace("$session", f"'{self.session_id}'"))


@pytest.fixture
def stored(request: pytest.FixtureRequest, stored_together: tuple[Path, dict[Write, str]]) -> Stored:
    results, names = stored_together
    return Stored(results, names[request.param])


@pytest.fixture(scope="module")
def _measured(
    request: pytest.FixtureRequest,
    in_memory: duckdb.DuckDBPyConnection,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[dict[Write, str], Callable[[str, str], Rows]]]:
    """Prefixes of the names of the module's sessions, and a function that queries those with a prefix."""
    folder = tmp_path_factory.mktemp("measured")
    prefixes = _write_all(request, request.path, "ask", folder)
    found = read_files.read(discover(folder), {})
    assert [row["problem"] for row in found.seen if row["problem"]] == []
    assert {name.partition("-")[0] + "-" for name in found.sessions()} == {*prefixes.values()}
    with in_memory.cursor() as connection:
        connection.begin()
        insert.insert(connection, found)
        ask_all = _deriving(connection, found.sessions(), schema.shipped_rules())

        @functools.cache
        def rows_of(name: str) -> str:
            ask_all(f"CREATE TEMP TABLE all_{name} AS FROM {name}")
            return f"all_{name}"

        def ask_some(prefix: str, query: str) -> Rows:
            named = sorted({*re.findall(r"\b(?:FROM|JOIN) (\w+)\b(?!\()", query)})
            hiding = [f"{name} AS (FROM {rows_of(name)} WHERE session_id ^@ '{prefix}')" for name in named]
            return ask_all(f"WITH {', '.join(hiding)} {query}" if hiding else query)

        yield prefixes, ask_some
        connection.rollback()


@pytest.fixture(name="ask")
def _ask_of_measured(
    request: pytest.FixtureRequest, _measured: tuple[dict[Write, str], Callable[[str, str], Rows]]
) -> Ask:
    """A function that queries the test's own sessions."""
    prefixes, ask_some = _measured
    return functools.partial(ask_some, prefixes[request.param])
