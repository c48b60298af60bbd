"""`bench predict` and the database predict by the same formulas: a change of one needs the same change of the
other."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from itertools import product

import duckdb
import pytest

from analysis.database import schema
from analysis.database.connections import reader as database_reader
from analysis.database.rows import fetch_rows
from analysis.loading.load import load
from analysis.sql import machine_speed
from bench import strategies
from bench.measure.machine.bandwidth import OPS, bus_factor
from bench.predict import network
from bench.predict.machine import Measured
from bench.predict.network import Fabric, step_traffic, total
from bench.predict.step_works import Sent, Stretch, works
from bench.predict.timeline import Group, Sending, simulate
from bench.records.run_spec import RunSpec
from tests.factory import BEGAN, Case, make_session, specs
from tests.machine_rows import add_collectives, machine_case

MACROS = (
    "bus_factor_of",
    "latency_steps_of",
    "communication_time_of",
    "exposed_time_of",
    "element_bytes_of",
)
RANKS = (2, 3, 8, 64, 100)


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    for name in MACROS:
        connection.execute(schema.text(name))
    return connection


def answer(database: duckdb.DuckDBPyConnection, call: str) -> float | None:
    row = database.execute(f"SELECT {call}").fetchone()
    assert row is not None
    return None if row[0] is None else float(row[0])


def test_an_operation_takes_equally_long_in_both(database: duckdb.DuckDBPyConnection) -> None:
    for op, n, algorithm, message_bytes, latency_s in product(
        OPS, RANKS, ("ring", "tree"), (0, 1_000, 10**9), (0.0, 5e-6)
    ):
        theirs = answer(
            database,
            f"communication_time_of('{op}', {message_bytes}, {n}, {latency_s}, 50e9, '{algorithm}')",
        )
        ours = network.communication_time_of(
            op, message_bytes, n, step_latency_s=latency_s, bus_bytes_per_s=50e9, algorithm=algorithm
        )
        assert ours == (None if theirs is None else pytest.approx(theirs, rel=1e-12))


def test_the_closed_form_of_exposed_time_is_that_of_simulated_buckets(
    database: duckdb.DuckDBPyConnection,
) -> None:
    for communication, computation, pieces in product((0.0, 1.0, 2.5), (0.0, 1.0, 40.0), (1, 2, 7)):
        closed = answer(database, f"exposed_time_of({communication}, {computation}, {pieces})")
        buckets = [
            Sent(op="all_reduce", message_bytes=1, group=Group("ranks", 2, 1), ready=(number + 1) / pieces)
            for number in range(pieces)
        ]
        backward = Stretch(name="backward", seconds=computation, messages=tuple(buckets))
        each = Sending(seconds=communication / pieces)
        step_s = simulate(works([backward]), lambda _, each=each: each).step_s
        assert step_s - computation == pytest.approx(closed, abs=1e-12)


def test_factors_and_elements_are_the_same(database: duckdb.DuckDBPyConnection) -> None:
    for op, n in product(OPS, RANKS):
        assert bus_factor(op, n) == answer(database, f"bus_factor_of('{op}', {n})")
    for dtype in ("fp32", "tf32", "bf16", "fp16"):
        assert network.element_bytes_of(dtype) == answer(database, f"element_bytes_of('{dtype}')")


PARAMETERS, UNITS = 2_804, 4
"""Size of the factory's model."""
STEPS = {1: 20.0, 2: 15.0, 4: 12.0, 16: 11.0}
CASES = [
    Case(name="ddp", step_ms=STEPS),
    Case(name="fsdp", strategy="fsdp", step_ms=STEPS, accumulate=2),
    Case(
        name="kept", strategy="fsdp", step_ms=STEPS, strategy_options={"reshard": "grad_op"}, precision="bf16"
    ),
    Case(name="hybrid", strategy="fsdp", step_ms=STEPS, strategy_options={"shard_size": 2}),
]


def whole(spec: RunSpec) -> RunSpec:
    """With the options that the suite would fill in."""
    options = strategies.load(spec.strategy).Options(**spec.strategy_options)
    return dataclasses.replace(spec, strategy_options=dataclasses.asdict(options))


def test_every_step_sends_as_long_in_both(results):
    session_id = make_session(results, CASES).name
    fabric = make_session(
        results, [machine_case("sizes", (2, 4, 32), repeats=2)], session_id="20261121T024925Z-collectives-77aa",
        created_at=BEGAN + timedelta(hours=1),
    )  # fmt: skip
    add_collectives(
        fabric,
        lambda spec, op, size: 1e6 * spec.world_size + size / 2,
        ops=OPS,
        sizes=(1_000, 10_000, 100_000),
    )
    load(results)
    with database_reader(results) as connection:
        rows = fetch_rows(connection, "FROM communication_prediction")
    theirs = {(row["case_name"], row["workers"]): row["communication_ms"] for row in rows}
    lines = Measured.of(**machine_speed.measured(results, "cpu")).lines
    ours = {}
    for case in CASES:
        for spec in specs(case, session_id, "suite", ()):
            messages, _ = step_traffic(whole(spec), PARAMETERS, UNITS)
            seconds = total(
                Fabric(lines=lines, source="", trees=False).seconds(one, spec) for one in messages
            )
            ours[case.name, spec.world_size] = 1e3 * (seconds or 0)
    assert len(ours) == len(CASES) * len(STEPS)
    assert {key: theirs[key] for key in ours} == pytest.approx(ours, rel=1e-9)
