"""collective_bandwidth and matmul_throughput, of rows whose figures can be worked out."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log, sqrt
from pathlib import Path
from statistics import stdev

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from bench.records.run_spec import RunSpec
from tests.factory import make_session
from tests.machine_rows import add_collectives, add_matmuls, machine_case
from tests.unit.analysis.conftest import Ask

T_2 = 4.302653
"""Student's t, two-sided 95 %, at two degrees of freedom."""
FACTORS = [1.0, 1.1, 1.25]
"""Times of the repeats."""


@pytest.fixture
def asked(results: Path, read_back: Callable[[], Ask]) -> Ask:
    def collective(spec: RunSpec, op: str, size: int) -> float:
        return 10_000 * FACTORS[spec.repeat] * (1 if op == "broadcast" else 2) + size

    cases = [
        machine_case("links", [4, 8], ranks_per_node=4),
        machine_case("products", [1, 2], workload="matmul", repeats=1, precision="bf16"),
        machine_case("gone", [2], statuses={(2, repeat): "failed" for repeat in range(3)}),
    ]
    session = make_session(results, cases)
    add_collectives(session, collective, ops=("all_reduce", "broadcast"), sizes=(1000, 8000))
    add_matmuls(session, lambda spec, size: size**3 * spec.world_size, sizes=(100, 200))
    return read_back()


def test_bandwidths_are_nccl_tests_with_an_interval_over_repeats(asked: Ask) -> None:
    (row,) = asked(
        "FROM collective_bandwidth WHERE op = 'all_reduce' AND message_bytes = 8000 AND world_size = 8"
    )
    times = [20_000 * factor + 8000 for factor in FACTORS]
    logs = [log(time) for time in times]
    mean = exp(sum(logs) / 3)
    spread = exp(T_2 * stdev(logs) / sqrt(3))
    assert (row["case_name"], row["placement"], row["nodes"], row["repeats"]) == ("links", "2x4", 2, 3)
    assert row["time_us"] == pytest.approx(mean / 1e3)
    assert row["algorithm_gbps"] == pytest.approx(8000 / mean)
    assert row["bus_gbps"] == pytest.approx(8000 / mean * 1.75)
    assert row["bus_gbps_lo"] == pytest.approx(8000 / mean * 1.75 / spread, rel=1e-4)
    assert row["bus_gbps_hi"] == pytest.approx(8000 / mean * 1.75 * spread, rel=1e-4)
    assert row["time_us_hi"] == pytest.approx(mean * spread / 1e3, rel=1e-4)


def test_every_placement_operation_and_size_is_a_row_and_a_failed_run_none(asked: Ask) -> None:
    rows = asked("SELECT case_name, count(*) AS n FROM collective_bandwidth GROUP BY case_name")
    assert rows == [{"case_name": "links", "n": 8}]


def test_flops_are_of_one_rank_and_have_no_interval_from_one_repeat(asked: Ask) -> None:
    rows = asked("FROM matmul_throughput ORDER BY world_size, m")
    assert [(row["world_size"], row["m"], row["precision"]) for row in rows] == [
        (1, 100, "bf16"),
        (1, 200, "bf16"),
        (2, 100, "bf16"),
        (2, 200, "bf16"),
    ]
    assert [row["flops_per_s"] for row in rows] == pytest.approx([2e9, 2e9, 1e9, 1e9])
    assert {row["flops_per_s_lo"] for row in rows} == {None}


def test_runs_without_steps_are_covered_and_have_neither_throughput_nor_verdict(asked: Ask) -> None:
    covered = asked("SELECT case_name, sum(ok)::INT AS ok FROM coverage GROUP BY ALL ORDER BY ALL")
    assert covered == [
        {"case_name": "gone", "ok": 0},
        {"case_name": "links", "ok": 6},
        {"case_name": "products", "ok": 2},
    ]
    assert asked("FROM scaling WHERE throughput IS NOT NULL OR verdict IS NOT NULL") == []


def test_a_peak_that_was_measured_once_has_no_interval_of_another_message(
    results: Path, read_back: Callable[[], Ask]
) -> None:
    session = make_session(results, [machine_case("links", [2])])
    add_collectives(
        session, lambda spec, _op, size: 10_000 * FACTORS[spec.repeat] + size, sizes=(1000, 8000, 64_000)
    )
    for path in [*session.glob("*.r1/collectives.*"), *session.glob("*.r2/collectives.*")]:
        table = pq.read_table(path)
        pq.write_table(table.filter(pc.equal(table["message_bytes"], 8000)), path)
    (row,) = read_back()("FROM collective_peaks")
    assert (row["smallest_message_bytes"], row["peak_message_bytes"]) == (1000, 64_000)
    ends = ("smallest_time_us_lo", "smallest_time_us_hi", "peak_bus_gbps_lo", "peak_bus_gbps_hi")
    assert {row[end] for end in ends} == {None}
