"""Predictions from a known network for ranks on one node and on several."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.predict.machine import Measured, machine
from bench.predict.network import Fabric, Line
from bench.predict.timeline import Group

WITHIN = Line(op="all_reduce", across_nodes=False, bus_bytes_per_s=400e9, step_latency_s=1e-6)
BETWEEN = Line(op="all_reduce", across_nodes=True, bus_bytes_per_s=50e9, step_latency_s=1e-6)


GROUPS = Group("world", 8, 1), Group("world", 16, 2)


def seconds(*lines: Line) -> tuple[list[float | None], list[str | None]]:
    """On one node of 8 ranks and on two, and why not."""
    fabric = Fabric(lines=lines, source="", trees=False)
    sent = [fabric.sending("all_reduce", 400e9, group) for group in GROUPS]
    problems = [fabric.problem("all_reduce", group) for group in GROUPS]
    return [None if one is None else one.seconds for one in sent], problems


def test_a_line_of_the_other_locality_is_not_used() -> None:
    (within, between), problems = seconds(WITHIN)
    assert within is not None
    assert between is None
    assert problems[0] is None
    assert problems[1] is not None
    assert "between nodes" in problems[1]
    assert "--inter-bus-gbps" in problems[1]
    (within, between), problems = seconds(BETWEEN)
    assert within is None
    assert between is not None
    assert problems[0] is not None
    assert "within a node" in problems[0]


def test_an_operation_that_nobody_timed_is_said() -> None:
    times, problems = seconds()
    assert times == [None, None]
    assert all(
        "never timed; measure it with `bench suite collectives`" in (problem or "") for problem in problems
    )
    assert seconds(WITHIN, BETWEEN)[1] == [None, None]


def test_an_operation_that_bench_does_not_time_has_no_remedy() -> None:
    fabric = Fabric(lines=(WITHIN,), source="", trees=False)
    assert fabric.problem("all_to_all", GROUPS[0]) == (
        "the time of all_to_all is not known: `bench suite collectives` does not measure it"
    )


def test_a_message_between_two_nodes_needs_a_broadcast_between_nodes() -> None:
    fabric = Fabric(lines=(replace(WITHIN, op="broadcast"),), source="", trees=False)
    assert fabric.problem("send", Group("world", 4, 1)) is None
    problem = fabric.problem("recv", Group("world", 4, 2))
    assert problem is not None
    assert problem.startswith("broadcast was never timed between nodes; ")


@pytest.mark.parametrize(("after", "how"), [(True, "after computation"), (False, "back to back")])
def test_the_source_says_whether_ranks_computed_between_their_messages(after: bool, how: str) -> None:
    names = ("bus_gbps", "latency_us", "inter_bus_gbps", "inter_latency_us", "memory", "tflops")
    line = replace(WITHIN, nodes=1, ranks_per_node=2, after_computation=after)
    timed = Measured(lines=(line,), fabric_sessions=("links",), device_name="EPYC")
    fabric = machine(dict.fromkeys(names), {"cpu": timed}, 2).fabrics["cpu"]
    assert fabric is not None
    assert f"links (EPYC), timed at 1x2 {how}," in fabric.source
