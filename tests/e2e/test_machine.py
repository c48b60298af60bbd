"""Runs that train nothing, as a user makes them: two ranks and gloo, rows of every rank, tables and a page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from processes import OneProcess

SUITE = """
title: What this machine can do
device: cpu
measure: {warmup: 1, steps: 3, repeats: 1, timeout_s: 60}
cases:
  - name: links
    workload: {name: collectives, smallest_bytes: 1024, largest_bytes: 4096, factor: 4}
    train: {precision: bf16}
    strategy: process_group
    scaling: none
    world: auto
  - name: products
    workload: {name: matmul, sizes: [32], shapes: [[8, 4, 16]]}
    strategy: process_group
    scaling: none
    world: [2]
"""


@pytest.fixture(scope="module")
def session(
    tmp_path_factory: pytest.TempPathFactory, one_process: OneProcess
) -> tuple[Path, OneProcess, str]:
    folder = tmp_path_factory.mktemp("machine")
    (folder / "machine.yaml").write_text(SUITE)
    command = ["suite", str(folder / "machine.yaml"), "--results", str(folder / "r"), "--ranks-per-node", "2"]
    done = one_process.run(*command, "--session", "s")
    assert done.returncode == 0, done.stderr
    return folder / "r", one_process, done.stdout


def rows(session: tuple[Path, OneProcess, str], query: str) -> list[dict[str, object]]:
    results, one_process, _ = session
    found: list[dict[str, object]] = json.loads(
        one_process.run("sql", query, "--results", str(results), "--format", "json").stdout
    )
    return found


def test_every_iteration_of_every_rank_is_a_row_with_nccl_tests_bandwidths(
    session: tuple[Path, OneProcess, str],
) -> None:
    found = rows(
        session,
        "SELECT op, message_bytes, count(*) AS n, count(DISTINCT rank) AS ranks, min(time_ns) > 0 AS took, "
        "bool_and(abs(algorithm_gbps - message_bytes / time_ns) < 1e-9) AS algorithm, "
        "round(avg(bus_gbps / algorithm_gbps), 6) AS factor FROM collectives "
        "WHERE computation_ns IS NULL GROUP BY ALL ORDER BY ALL",
    )
    expected = {"all_gather": 0.5, "all_reduce": 1.0, "broadcast": 1.0, "reduce_scatter": 0.5}
    assert found == [
        {
            "op": op,
            "message_bytes": size,
            "n": 6,
            "ranks": 2,
            "took": True,
            "algorithm": True,
            "factor": factor,
        }
        for op, factor in expected.items()
        for size in (1024, 4096)
    ]
    products = rows(session, "SELECT m, n, k, count(*) AS rows FROM matmuls GROUP BY ALL ORDER BY ALL")
    assert products == [{"m": 8, "n": 4, "k": 16, "rows": 6}, {"m": 32, "n": 32, "k": 32, "rows": 6}]


def test_ranks_of_a_cpu_also_compute_before_each_operation_and_that_is_no_bandwidth(
    session: tuple[Path, OneProcess, str],
) -> None:
    found = rows(
        session,
        "SELECT count(*) AS n, count(DISTINCT (op, message_bytes, rank, iteration)) AS different, "
        "min(computation_ns) > 0 AS computed, min(time_ns) > 0 AS took, min(cpu_ns) > 0 AS sent, "
        "count(algorithm_gbps) + count(bus_gbps) AS bandwidths FROM collectives WHERE computation_ns IS NOT NULL",
    )
    assert found == [
        {"n": 48, "different": 48, "computed": True, "took": True, "sent": True, "bandwidths": 0}
    ]


def test_its_runs_are_ok_without_steps_or_batches(session: tuple[Path, OneProcess, str]) -> None:
    runs = rows(
        session,
        "SELECT run_id, status, global_batch, data_source, steps_completed, setup_s > 0 AS met FROM runs ORDER BY 1",
    )
    assert runs == [
        {
            "run_id": run,
            "status": "ok",
            "global_batch": None,
            "data_source": None,
            "steps_completed": 0,
            "met": True,
        }
        for run in ("links.1x2.r0", "products.1x2.r0")
    ]


def test_the_session_ends_with_what_it_found_and_summary_and_page_show_it(
    session: tuple[Path, OneProcess, str], tmp_path: Path
) -> None:
    results, one_process, printed = session
    assert "GB/s" in printed.splitlines()[-3]
    assert "speedup" not in printed
    summary = one_process.run("summary", "--runs", "--results", str(results)).stdout
    assert "Bus bandwidth in GB/s" in summary
    assert "4 KiB" in summary
    done = one_process.run("report", "--results", str(results), "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "No run of this session is ok" not in (tmp_path / "s.html").read_text()
