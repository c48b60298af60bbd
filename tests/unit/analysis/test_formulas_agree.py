"""The database's formulas are those of `bench predict`, and its messages those of shadows: a change of one needs the
same change of the other."""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import pytest

from analysis.database import schema
from analysis.database.connections import reader as database_reader
from analysis.database.rows import fetch_rows
from analysis.loading.load import load
from analysis.sql import machine_speed
from bench.measure.machine.bandwidth import OPS, bus_factor
from bench.predict import network as networks
from bench.predict.machine import Measured
from bench.predict.network import Fabric
from bench.predict.step_works import Stretch, StretchMessage, works
from bench.predict.timeline import Group, Sending, simulate
from bench.shadow.records import Shadow
from bench.shadow.shadow import shadows
from tests.factory import BEGAN, Case, make_session, specs
from tests.machine_rows import add_collectives, machine_case
from tests.shadow_runs import runs

MACROS = ("bus_factor_of", "latency_steps_of", "communication_time_of", "exposed_time_of")
UNITS = 5
"""Four layers, and the rest."""
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
        ours = networks.communication_time_of(
            op, message_bytes, n, step_latency_s=latency_s, bus_bytes_per_s=50e9, algorithm=algorithm
        )
        assert ours == (None if theirs is None else pytest.approx(theirs, rel=1e-12))


def test_the_closed_form_of_exposed_time_is_that_of_simulated_buckets(
    database: duckdb.DuckDBPyConnection,
) -> None:
    for communication, computation, pieces in product((0.0, 1.0, 2.5), (0.0, 1.0, 40.0), (1, 2, 7)):
        closed = answer(database, f"exposed_time_of({communication}, {computation}, {pieces})")
        buckets = [
            StretchMessage(
                op="all_reduce", message_bytes=1, group=Group("ranks", 2, 1), ready=(number + 1) / pieces
            )
            for number in range(pieces)
        ]
        backward = Stretch(name="backward", seconds=computation, messages=tuple(buckets))
        each = Sending(seconds=communication / pieces)
        step_s = simulate(works([backward]), lambda _, each=each: each).step_s
        assert step_s - computation == pytest.approx(closed, abs=1e-12)


def test_factors_are_the_same(database: duckdb.DuckDBPyConnection) -> None:
    for op, n in product(OPS, RANKS):
        assert bus_factor(op, n) == answer(database, f"bus_factor_of('{op}', {n})")


CASES: dict[str, dict[str, Any]] = {
    "ddp": {"strategy": "ddp"},
    "ddp_bf16": {"strategy": {"ddp": {"gradient_compression": "bf16"}}},
    "fsdp": {"strategy": "fsdp"},
    "fsdp_once": {"strategy": "fsdp", "train": {"accumulate": 1}},
    "kept": {"strategy": {"fsdp": {"reshard": "grad_op"}}, "train": {"precision": "bf16"}},
    "hybrid": {"strategy": {"fsdp": {"shard_size": 2}}, "world": [4]},
}


def test_a_shadow_sends_what_the_table_of_messages_has(results: Path, tmp_path: Path) -> None:
    norm = {"train": {"clip_norm": None}}  # which the table leaves out
    asked = {
        name: {"world": [2], **keys, "train": {**norm["train"], **keys.get("train", {})}}
        for name, keys in CASES.items()
    }
    every = runs(tmp_path, asked)
    cases = []
    ours = {}
    for spec, found in zip(every, shadows([(spec, 0) for spec in every]), strict=True):
        assert isinstance(found, Shadow)
        sent = defaultdict(list)
        for one in found.messages:
            phase = "forward" if one.phase == "forward" else "backward"
            sent[one.op, phase].append(one.message_bytes)
        shards = spec.strategy_options.get("shard_size") or 1
        ours |= {
            (spec.case_name, op, phase): (
                len(each),
                sum(each) * (shards if spec.strategy == "fsdp" and op == "all_reduce" else 1),
            )
            for (op, phase), each in sent.items()
        }
        cases.append(
            Case(
                name=spec.case_name,
                strategy=spec.strategy,
                strategy_options=spec.strategy_options,
                step_ms={spec.world_size: 10.0},
                accumulate=spec.train.accumulate,
                precision=spec.train.precision,
                outcome={"parameters": found.model_parameters, "units": UNITS},
            )
        )
    make_session(results, cases)
    load(results)
    with database_reader(results) as connection:
        rows = fetch_rows(connection, "FROM step_messages")
    theirs = {
        (row["case_name"], row["op"], row["phase"].removeprefix("last_")): (
            row["messages"],
            row["message_bytes"],
        )
        for row in rows
    }
    assert {name for name, _, _ in theirs} == set(CASES)
    assert theirs == ours


STEPS = {1: 20.0, 2: 15.0, 4: 12.0, 16: 11.0}
TIMED = [
    Case(name="ddp", step_ms=STEPS),
    Case(name="fsdp", strategy="fsdp", step_ms=STEPS, accumulate=2),
    Case(name="hybrid", strategy="fsdp", step_ms=STEPS, strategy_options={"shard_size": 2}),
]


def test_every_step_sends_as_long_in_both(results: Path) -> None:
    session_id = make_session(results, TIMED).name
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
        theirs = {
            (row["case_name"], row["workers"]): row["communication_ms"]
            for row in fetch_rows(connection, "FROM communication_prediction")
        }
        sent = fetch_rows(connection, "FROM step_messages")
    network = Fabric(
        lines=Measured.of(**machine_speed.measured(results, "cpu")).lines, source="", trees=False
    )
    ours = {}
    for case in TIMED:
        for spec in specs(case, session_id, "suite", ()):
            shards = min(case.strategy_options.get("shard_size", spec.world_size), spec.world_size)
            groups = spec.world_size // shards
            seconds = 0.0
            for row in (row for row in sent if row["case_name"] == case.name):
                among = Group("ranks", shards, -(-shards // spec.ranks_per_node))
                message_bytes = row["message_bytes"] / row["messages"]
                if row["scope"] == "groups":
                    among = Group("groups", groups, min(groups, spec.nodes))
                    message_bytes /= shards
                each = network.sending(row["op"], message_bytes, among)
                assert each is not None
                seconds += row["messages"] * each.seconds
            ours[case.name, spec.world_size] = 1e3 * seconds
    assert len(ours) == len(TIMED) * len(STEPS)
    assert {key: theirs[key] for key in ours} == pytest.approx(ours, rel=1e-9)
