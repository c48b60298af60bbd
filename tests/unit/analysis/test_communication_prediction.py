"""Predictions from the messages of a step, on made-up machines with known latency, bandwidth and overlap."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from math import log2
from typing import Any

import pytest

from bench.measure.machine.bandwidth import bus_factor
from tests.factory import BEGAN, Case, make_session
from tests.machine_rows import add_collectives, machine_case
from tests.unit.analysis.conftest import Write, asks, measured

PARAMETERS, UNITS = 2_804, 4
"""Size of the factory's model: three blocks and the rest."""
STEP_LATENCY_S, BANDWIDTH = 0.0005, 2e6
OPS = ("all_reduce", "all_gather", "reduce_scatter", "broadcast")
SIZES = (1_000, 10_000, 100_000, 1_000_000)


def ring_s(op: str, message_bytes: float, n: int, bandwidth: float = BANDWIDTH) -> float:
    steps = 2 * (n - 1) if op == "all_reduce" else n - 1
    return steps * STEP_LATENCY_S + bus_factor(op, n) * message_bytes / bandwidth


def predictable(
    *cases: Case, worlds: Any = (2, 4, 64), time_s: Any = ring_s, sizes: Any = SIZES, **fabric: Any
) -> Write:
    """Writes a session of the cases, together with one that timed collectives of such rings. Both are of a
    device that no other test has."""

    def write(results, name):
        device = {"outcome": {"device_name": name}}
        make_session(results, [replace(case, **device) for case in cases], session_id=name)
        session = make_session(
            results,
            [machine_case("sizes", worlds, repeats=2, **device, **fabric)],
            session_id=name + "fabric",
            created_at=BEGAN + timedelta(hours=1),
        )
        add_collectives(
            session, lambda spec, op, size: 1e9 * time_s(op, size, spec.world_size), ops=OPS, sizes=sizes
        )

    return write


def predict(*cases: Case, **options: Any) -> pytest.MarkDecorator:
    return asks(predictable(*cases, **options))


@predict(worlds=(2, 4, 16))
def test_planted_latency_and_bandwidth_are_found_for_every_operation_and_world(ask):
    rows = ask("FROM fabric_fits ORDER BY op, world_size")
    assert [(row["op"], row["world_size"]) for row in rows] == [
        (op, n) for op in sorted(OPS) for n in (2, 4, 16)
    ]
    for row in rows:
        steps = 2 * (row["world_size"] - 1) if row["op"] == "all_reduce" else row["world_size"] - 1
        assert row["latency_s"] == pytest.approx(steps * STEP_LATENCY_S, rel=1e-5)
        assert row["bus_bytes_per_s"] == pytest.approx(BANDWIDTH, rel=1e-5)
        assert row["relative_error"] < 1e-5
        assert row["points"] == 4
        assert (row["nodes"], row["ranks_per_node"]) == (
            max(1, row["world_size"] // 8),
            min(8, row["world_size"]),
        )


@predict(Case(name="ddp", step_ms={1: 20.0, 2: 15.0}), sizes=(1_000, 1_000_000))
def test_two_sizes_make_no_line_and_nothing_is_predicted_from_them(ask):
    found = {(row["points"], row["latency_s"], row["relative_error"]) for row in ask("FROM fabric_fits")}
    assert found == {(2, None, None)}
    assert ask("FROM communication_prediction") == []


@predict(time_s=lambda op, size, n: 1e-3 * (size / 1e6) ** 1.5)
def test_a_line_that_would_begin_below_zero_begins_at_zero_and_says_how_far_off_it_is(ask):
    rows = ask("FROM fabric_fits")
    assert {row["latency_s"] for row in rows} == {0.0}
    assert all(row["relative_error"] > 0.3 for row in rows)


@predict(time_s=lambda op, size, n: 2e-3)
def test_where_time_does_not_grow_with_bytes_there_is_latency_alone(ask):
    rows = ask("FROM fabric_fits")
    assert [(row["latency_s"], row["bus_bytes_per_s"]) for row in rows] == [
        (pytest.approx(2e-3), None)
    ] * len(rows)


def ddp_s(n: int, *, backward_s: float, buckets: int = 1) -> float:
    """Exposed, by the documented formula."""
    sent = buckets * ring_s("all_reduce", 4 * PARAMETERS / buckets, n) if n > 1 else 0.0
    return max(sent / buckets, sent - backward_s * (1 - 1 / buckets))


def strong_ms(n: int, buckets: int) -> float:
    """100 ms at one rank: data 10, forward 30, backward 50, optimizer 10; the optimizer's time does not shrink."""
    return 90 / n + 10 + 1e3 * ddp_s(n, backward_s=0.05 / n, buckets=buckets)


def kept(bucket_cap_mb, buckets):
    """A case that keeps to the model."""
    return predictable(
        Case(
            name="ddp",
            step_ms={n: strong_ms(n, buckets) for n in (1, 2, 4)},
            strategy_options={"bucket_cap_mb": bucket_cap_mb},
            batch=32,
        )
    )


@pytest.mark.parametrize(("ask", "buckets"), [(kept(25, 1), 1), (kept(0.00214, 5), 5)], indirect=["ask"])
def test_a_case_that_keeps_to_the_model_is_predicted_without_error(ask, buckets):
    rows = ask("FROM communication_prediction ORDER BY workers")
    assert [(row["workers"], row["kind"]) for row in rows] == [
        *((n, "measured") for n in (1, 2, 4)),
        *((n, "predicted") for n in (8, 16, 32)),
    ]
    assert rows[0]["relative_error"] is None  # it starts from there
    assert [row["relative_error"] for row in rows[1:3]] == pytest.approx([0, 0], abs=1e-5)
    assert [row["throughput"] for row in rows] == pytest.approx(
        [32e3 / strong_ms(row["workers"], buckets) for row in rows], rel=1e-5
    )
    assert [row["fabric"] for row in rows] == [None, "measured", "measured", *["extrapolated"] * 3]
    assert {row["fabric_session_id"] for row in rows[1:]} == {rows[0]["session_id"] + "fabric"}
    assert [(row["messages"], row["message_bytes"]) for row in rows] == [(0, 0), *[(buckets, 11_216)] * 5]
    assert [(row["nodes"], row["ranks_per_node"]) for row in rows[-2:]] == [(2, 8), (4, 8)]
    two = rows[1]
    sent_ms = 1e3 * buckets * ring_s("all_reduce", 11_216 / buckets, 2)
    assert two["communication_ms"] == pytest.approx(sent_ms, rel=1e-5)
    assert 32e3 / two["throughput_lo"] == pytest.approx(55 + sent_ms, rel=1e-5)
    assert 32e3 / two["throughput_hi"] == pytest.approx(55 + max(0, sent_ms - 25), rel=1e-5)
    assert two["throughput_lo"] <= two["throughput"] <= two["throughput_hi"]


@predict(Case(name="ddp", step_ms={n: strong_ms(n, 1) for n in (1, 2, 4)}, batch=32))
def test_scaling_prediction_has_the_same_rows_beside_the_laws(ask):
    rows = ask("FROM scaling_prediction WHERE law = 'communication' ORDER BY workers")
    assert [row["throughput"] for row in rows] == pytest.approx(
        [row["throughput"] for row in ask("FROM communication_prediction ORDER BY workers")], rel=1e-12
    )
    assert [row["relative_error"] is None for row in rows] == [True, False, False, True, True, True]
    four = rows[2]
    assert (four["kind"], four["axis"], four["scaling_mode"], four["suite"]) == (
        "measured",
        "ranks",
        "strong",
        "smoke",
    )
    assert four["speedup"] == pytest.approx(strong_ms(1, 1) / strong_ms(4, 1), rel=1e-5)
    assert four["efficiency"] == pytest.approx(four["speedup"] / 4)
    assert four["measured_speedup"] == pytest.approx(four["speedup"], rel=1e-5)
    assert {row["law"] for row in ask("FROM scaling_prediction")} == {"fitted", "communication"}


@predict(
    Case(
        name="five",
        step_ms={n: strong_ms(n, 5) for n in (2, 4)},
        strategy_options={"bucket_cap_mb": 0.00214},
    )
)
def test_the_communication_of_a_smallest_size_of_several_ranks_is_taken_off_first(ask):
    rows = ask("FROM communication_prediction WHERE kind = 'measured' ORDER BY workers")
    # The factory's backward is always half of the step, so only sizes for which the model agrees can match.
    assert rows[0]["throughput"] == pytest.approx(rows[0]["measured_throughput"], rel=1e-5)
    assert rows[0]["relative_error"] is None
    backward_ms = strong_ms(2, 5) / 2
    sent_ms = 1e3 * 5 * ring_s("all_reduce", 11_216 / 5, 2)
    computation_ms = min(backward_ms - sent_ms / 5, 5 * (backward_ms - sent_ms))
    assert rows[0]["computation_ms"] == pytest.approx(backward_ms + computation_ms, rel=1e-5)


def tree_s(op: str, message_bytes: float, n: int) -> float:
    steps, factor = (2 * log2(n), 2) if op == "all_reduce" else (log2(n), 1)
    return steps * STEP_LATENCY_S + factor * message_bytes / BANDWIDTH


def nccl_s(op: str, message_bytes: float, n: int) -> float:
    """The line of such a network: a tree's latency, a ring's bandwidth."""
    trees = op in ("all_reduce", "broadcast")
    latency_s = tree_s(op, 0, n) if trees else ring_s(op, 0, n)
    return latency_s + bus_factor(op, n) * message_bytes / BANDWIDTH


@predict(
    *(
        Case(
            name=name,
            step_ms={1: 100.0, 2: 60.0, 4: 40.0, 8: 30.0},
            device_type="cuda",
            strategy_options={"bucket_cap_mb": cap},
        )
        for name, cap in (("whole", 25), ("pieces", 0.0005))
    ),
    worlds=(2, 4, 8, 32),
    time_s=nccl_s,
    device_type="cuda",
)
def test_nccl_takes_the_faster_of_ring_and_tree(ask):
    found = {
        (row["case_name"], row["world_size"]): row["time_s"]
        for row in ask("FROM message_times WHERE kind = 'predicted' AND world_size IN (16, 64)")
    }
    for name, messages in (("whole", 1), ("pieces", 22)):
        for n in (16, 64):
            each = 11_216 / messages
            best = min(ring_s("all_reduce", each, n), tree_s("all_reduce", each, n))
            assert found[name, n] == pytest.approx(messages * best, rel=1e-5)
    assert ring_s("all_reduce", 1_000, 2) == pytest.approx(tree_s("all_reduce", 500, 2))


OPTIONS = {
    "full": {},
    "kept": {"reshard": "grad_op"},
    "narrow": {"reduce_dtype": "bf16", "param_dtype": "fp32"},
    "groups": {"shard_size": 2},
}
GATHERED = 4 * PARAMETERS


@predict(
    *(
        Case(name=name, strategy="fsdp", strategy_options=options, step_ms={1: 60.0, 4: 80.0}, accumulate=2)
        for name, options in OPTIONS.items()
    ),
    worlds=(2, 4),
)
def test_fsdp_gathers_in_every_micro_batch_and_reduces_in_the_last(ask):
    query = "SELECT * EXCLUDE (session_id) FROM step_messages WHERE case_name = '{}' ORDER BY op, phase DESC"
    assert [tuple(row.values())[1:] for row in ask(query.format("full"))] == [
        ("all_gather", "forward", "ranks", 2 * UNITS, 2 * GATHERED),
        ("all_gather", "backward", "ranks", 2 * UNITS, 2 * GATHERED),
        ("reduce_scatter", "last_backward", "ranks", UNITS, 4 * PARAMETERS),
    ]
    kept = ask(query.format("kept"))
    assert [(row["op"], row["phase"]) for row in kept] == [
        ("all_gather", "forward"),
        ("reduce_scatter", "last_backward"),
    ]
    assert [row["message_bytes"] for row in ask(query.format("narrow"))] == [
        2 * GATHERED,
        2 * GATHERED,
        5_608,
    ]
    times = ask("FROM message_times WHERE case_name = 'groups' AND kind = 'measured' AND world_size = 4")
    assert {(row["op"], row["op_ranks"], row["op_nodes"], row["message_bytes"]) for row in times} == {
        ("all_gather", 2, 1, 2 * GATHERED),
        ("reduce_scatter", 2, 1, GATHERED),
        ("all_reduce", 2, 1, GATHERED / 2),
    }
    assert {row["fabric"] for row in times} == {"measured"}


@predict(Case(name="fsdp", strategy="fsdp", step_ms={1: 60.0, 4: 80.0}, accumulate=2, scaling="weak"))
def test_exposed_communication_of_fsdp_is_worked_out_pass_by_pass(ask):
    (row,) = ask("FROM communication_prediction WHERE workers = 4")
    gather = UNITS * ring_s("all_gather", GATHERED / UNITS, 4)
    reduce = UNITS * ring_s("reduce_scatter", GATHERED / UNITS, 4)
    forward, backward, hidden = 0.018, 0.030, 1 - 1 / UNITS
    exposed = max(2 * gather / UNITS, 2 * gather - forward * hidden)
    exposed += max(gather / UNITS, gather - backward / 2 * hidden)
    exposed += max((gather + reduce) / UNITS, gather + reduce - backward / 2 * hidden)
    assert row["communication_ms"] == pytest.approx(1e3 * (4 * gather + reduce), rel=1e-5)
    assert row["exposed_communication_ms"] == pytest.approx(1e3 * exposed, rel=1e-5)
    # The optimizer updates a quarter of the parameters.
    assert row["computation_ms"] == pytest.approx(54 + 6 / 4)
    assert row["throughput"] == pytest.approx(4 * 64 / (0.0555 + exposed), rel=1e-5)


@predict(
    Case(name="low_rank", step_ms={1: 20.0, 2: 15.0}, strategy_options={"gradient_compression": "powersgd"}),
    Case(name="offloaded", step_ms={1: 20.0}, strategy="fsdp", strategy_options={"cpu_offload": True}),
    Case(name="other_device", step_ms={1: 20.0, 2: 15.0}, device_type="cuda"),
    Case(name="threads", step_ms={1: 20.0, 2: 15.0}, axis="threads", strategy="single"),
    Case(name="unscaled", step_ms={1: 20.0, 2: 15.0}, scaling="none"),
    Case(name="halved", step_ms={1: 20.0, 2: 15.0}, strategy_options={"gradient_compression": "bf16"}),
)
def test_what_cannot_be_known_is_not_predicted(ask):
    assert ask(
        "SELECT DISTINCT case_name, message_bytes FROM communication_prediction WHERE workers = 2"
    ) == [{"case_name": "halved", "message_bytes": 2 * PARAMETERS}]


def _with_older_fabric(results, name):
    predictable(Case(name="ddp", step_ms={1: 20.0, 2: 15.0, 8: 10.0}))(results, name)
    session = make_session(
        results,
        [machine_case("sizes", (2, 8), repeats=1, outcome={"device_name": name})],
        session_id=name + "older",
        created_at=BEGAN - timedelta(days=1),
    )
    add_collectives(session, lambda *_: 5e9, ops=OPS, sizes=SIZES)


@asks(_with_older_fabric)
def test_the_newest_session_that_timed_the_placement_is_asked_and_an_older_one_for_another(ask):
    rows = {row["workers"]: row for row in ask("FROM communication_prediction WHERE kind = 'measured'")}
    assert rows[2]["fabric_session_id"] == rows[2]["session_id"] + "fabric"
    assert rows[8]["fabric_session_id"] == rows[8]["session_id"] + "older"
    assert rows[8]["communication_ms"] == pytest.approx(5_000)


@measured(Case(name="ddp", step_ms={1: 100.0, 2: 52.0, 4: 28.0}))
def test_nothing_is_predicted_without_collectives_and_the_laws_stay(ask):
    assert ask("FROM communication_prediction") == []
    assert {row["law"] for row in ask("FROM scaling_prediction")} == {"fitted"}
    assert len(ask("FROM communication_points")) == 3
