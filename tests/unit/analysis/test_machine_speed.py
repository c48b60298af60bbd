"""Timings within a node do not describe a network between nodes; those of a device without a name predict nothing."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from analysis.database import connections
from analysis.database.rows import fetch_rows
from analysis.loading.load import load
from analysis.sql import machine_speed
from tests.factory import BEGAN, Case, make_session
from tests.machine_rows import add_collectives, add_matmuls, machine_case


@pytest.fixture
def timed(results):
    """A session of training, together with one that timed collectives on one node."""
    make_session(results, [Case(name="ddp", step_ms={1: 20.0, 2: 15.0}, batch=32)])
    session = make_session(
        results,
        [machine_case("sizes", (2, 4), repeats=1)],
        session_id="20261121T024925Z-collectives-77aa",
        created_at=BEGAN + timedelta(hours=1),
    )
    add_collectives(
        session,
        lambda spec, op, size: 1e6 * spec.world_size + size,
        ops=["all_reduce"],
        sizes=(1, 1000, 9000),
    )
    return session


def test_what_was_timed_within_a_node_says_nothing_of_a_network_between_nodes(timed, read_back):
    ask = read_back()
    rows = ask(
        "SELECT workers, nodes, fabric FROM communication_prediction WHERE kind = 'predicted' ORDER BY ALL"
    )
    assert [tuple(row.values()) for row in rows] == [(4, 1, "measured"), (8, 1, "extrapolated")]
    times = ask(
        "SELECT DISTINCT op_nodes > 1 AS between, time_s IS NULL AS unknown FROM message_times ORDER BY ALL"
    )
    assert times == [{"between": False, "unknown": False}, {"between": True, "unknown": True}]


def test_a_network_of_a_device_without_a_name_predicts_nothing(timed, results):
    for path in timed.glob("**/run.json"):
        found = json.loads(path.read_text())
        found["outcome"]["device_name"] = None
        path.write_text(json.dumps(found))
    load(results)
    with connections.reader(results) as connection:
        assert fetch_rows(connection, "SELECT DISTINCT device_name FROM fabric_lines") == [
            {"device_name": None}
        ]
        assert fetch_rows(connection, "FROM communication_prediction") == []
    assert machine_speed.measured(results, "cpu")["fabric"] == []


def test_a_line_goes_through_the_points_of_the_chart(results, read_back):
    session = make_session(results, [machine_case("sizes", (2,), repeats=3)])
    factors = {0: 1, 1: 2, 2: 9}
    add_collectives(
        session, lambda spec, op, size: factors[spec.repeat] * (1e6 + 4 * size), sizes=(1_000, 10**5, 10**6)
    )
    ask = read_back()
    (line,) = ask("FROM fabric_fits")
    points = ask("FROM collective_bandwidth")
    assert len(points) == 3
    for point in points:
        on_line_s = line["latency_s"] + point["message_bytes"] / line["bus_bytes_per_s"]
        assert point["time_us"] == pytest.approx(1e6 * on_line_s, rel=1e-6)


def test_times_after_computation_are_a_line_of_means_which_predictions_use(results, read_back):
    session = make_session(results, [machine_case("sizes", (2,), repeats=2)])
    add_collectives(
        session,
        lambda spec, op, size: 1e6 + 4 * size,
        sizes=(1_000, 10**5, 10**6),
        # of three iterations the last takes as long as both others together
        after_computation_ns=lambda spec, op, size, iteration: (1, 1, 2)[iteration] * (3e6 + 6 * size),
    )
    ask = read_back()
    alone, after = ask("FROM fabric_fits ORDER BY after_computation")
    assert [alone["after_computation"], after["after_computation"]] == [False, True]
    assert alone["latency_s"] == pytest.approx(1e-3)
    assert after["latency_s"] == pytest.approx(4e-3)
    assert after["bus_bytes_per_s"] == pytest.approx(1e9 / 8)
    assert {row["time_us"] for row in ask("FROM collective_bandwidth WHERE message_bytes = 1000")} == {1004.0}
    lines = ask("FROM fabric_lines ORDER BY fabric DESC")
    assert [(row["fabric"], row["after_computation"]) for row in lines] == [
        ("measured", True),
        ("extrapolated", True),
    ]
    assert lines[0]["latency_s"] == pytest.approx(4e-3)
    assert lines[1]["step_latency_s"] == pytest.approx(2e-3)


@pytest.mark.usefixtures("without_rules")
def test_what_multiplication_achieved_is_the_fastest_of_all_sessions(results):
    for day, (name, time_ns) in enumerate((("fast", 1e5), ("slow", 3e5))):
        session = make_session(
            results,
            [machine_case("square", (1,), workload="matmul", repeats=1)],
            session_id=name,
            created_at=BEGAN + timedelta(days=day),
        )
        add_matmuls(session, lambda spec, n, time_ns=time_ns: time_ns)
    load(results)
    (row,) = machine_speed.measured(results, "cpu")["matmul"]
    assert row["session_id"] == "fast"
