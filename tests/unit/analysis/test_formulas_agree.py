"""`bench predict` and the database predict by the same formulas: what one changes the other must."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import duckdb
import pytest

from bench.predict import formulas

MACROS = (
    "bus_factor_of",
    "latency_steps_of",
    "communication_time_of",
    "exposed_time_of",
    "element_bytes_of",
)
FOLDER = Path(__file__).parents[3] / "results.duckdb-schema"
OPERATIONS = ("all_reduce", "all_gather", "reduce_scatter", "broadcast")
RANKS = (2, 3, 8, 64, 100)


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    for name in MACROS:
        connection.execute((FOLDER / f"{name}.sql").read_text())
    return connection


def answer(database: duckdb.DuckDBPyConnection, call: str) -> float | None:
    row = database.execute(f"SELECT {call}").fetchone()
    assert row is not None
    return None if row[0] is None else float(row[0])


def test_an_operation_takes_equally_long_in_both(database: duckdb.DuckDBPyConnection) -> None:
    for op, n, algorithm, message_bytes, latency_s in product(
        OPERATIONS, RANKS, ("ring", "tree"), (0, 1_000, 10**9), (0.0, 5e-6)
    ):
        theirs = answer(
            database,
            f"communication_time_of('{op}', {message_bytes}, {n}, {latency_s}, 50e9, '{algorithm}')",
        )
        ours = formulas.communication_time_of(
            op, message_bytes, n, step_latency_s=latency_s, bus_bytes_per_s=50e9, algorithm=algorithm
        )
        assert ours == (None if theirs is None else pytest.approx(theirs, rel=1e-12))


def test_as_much_of_it_shows_in_both(database: duckdb.DuckDBPyConnection) -> None:
    for communication, computation, pieces in product(
        (0.0, 1.0, 2.5), (0.0, 1.0, 40.0), (1, 2, 7, float("inf"))
    ):
        theirs = answer(database, f"exposed_time_of({communication}, {computation}, '{pieces}'::DOUBLE)")
        assert formulas.exposed_time_of(communication, computation, pieces) == pytest.approx(theirs)


def test_factors_and_elements_are_the_same(database: duckdb.DuckDBPyConnection) -> None:
    for op, n in product(OPERATIONS, RANKS):
        assert formulas.bus_factor_of(op, n) == answer(database, f"bus_factor_of('{op}', {n})")
    for dtype in ("fp32", "tf32", "bf16", "fp16"):
        assert formulas.element_bytes_of(dtype) == answer(database, f"element_bytes_of('{dtype}')")
