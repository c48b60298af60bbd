"""Collectives between two nodes: the suite that ships, with one rank per node."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.cluster.studies import Study


@pytest.mark.shortest
def test_collectives_between_two_nodes_are_timed_on_both(cluster: Any, image: str) -> None:
    study = Study(cluster, image, "collectives")
    only = "--case across_nodes --world 2x1 --repeats 1 --set workload.largest_bytes=4096"
    step = study.finish(f"collectives --quick --device cpu --session c {only}")
    assert step.wait() == 0, step.said
    rows = study.asked("SELECT node, rank, op, count(*) FROM collectives GROUP BY ALL ORDER BY ALL")
    ops = ("all_gather", "all_reduce", "broadcast", "reduce_scatter")
    assert rows == [(rank, rank, op, 16) for rank in (0, 1) for op in ops]  # 8 iterations of two sizes
    placements = study.asked("SELECT DISTINCT placement, nodes, bus_gbps > 0 FROM collective_bandwidth")
    assert placements == [("2x1", 2, True)]
