"""Readings of sensors, binned at load."""

from __future__ import annotations

import pytest

from analysis.database import schema
from tests.factory import Case
from tests.unit.analysis.conftest import measured, session_of


def _case(**values):
    return Case(
        **({"name": "ddp", "step_ms": {2: 1000.0}, "repeats": 1, "steps": 98, "device_type": "cuda"} | values)
    )


@measured(_case())
def test_a_run_has_up_to_forty_bins_of_each_kind_of_device(ask):
    rows = ask("FROM sensors ORDER BY kind, time_s")
    # 501 readings, 0.2 s apart: 100 s and a nanosecond in 40 bins.
    assert [row["kind"] for row in rows] == ["GPU"] * 40 + ["host"] * 40
    assert [row["time_s"] for row in rows[:4]] == pytest.approx([0.0, 2.6, 5.2, 7.6])
    assert [row["power_w"] for row in rows[:40]] == pytest.approx([600] * 40)
    assert {row["temperature_c"] for row in rows[:40]} == {61}
    assert {row["power_w"] for row in rows[40:]} == {None}
    assert [row["utilisation"] for row in rows] == pytest.approx([0.92] * 40 + [0.55] * 40)


@pytest.mark.parametrize(
    ("ask", "power_w"),
    [
        (session_of(_case(gpu={"power_w": 250.0, **counter})), power_w)
        for counter, power_w in [({}, 600.0), ({"energy_j": None}, 250.0), ({"energy_j": 7.0}, 250.0)]
    ],
    indirect=["ask"],
    ids=["rises by 120 J in 0.2 s", "missing", "does not move"],
)
def test_power_is_the_rise_of_the_energy_counter_where_there_is_one(ask, power_w):
    rows = ask("SELECT power_w FROM sensors WHERE kind = 'GPU'")
    assert [row["power_w"] for row in rows] == pytest.approx([power_w] * 40)


@measured(_case(other_cpu_pct=33.0, gpu={"gpu_util_pct": 70.0}))
def test_percent_of_the_files_are_fractions_in_the_table(ask):
    shares = "gpu_busy_share, cpu_busy_share, other_cpu_share"
    rows = ask(f"SELECT DISTINCT device IS NULL, {shares} FROM samples ORDER BY ALL")
    assert [tuple(row.values()) for row in rows] == [(False, 0.7, None, None), (True, None, 0.55, 0.33)]


def test_times_at_the_ends_of_their_type_do_not_end_the_load(measure, in_memory):
    ask = measure(_case())
    in_memory.execute(
        "UPDATE samples SET time_ns = if(time_ns = 0, -(2::HUGEINT ** 62), 2::HUGEINT ** 62)::BIGINT"
    )
    assert len(ask(schema.text("sensors"))) == 4
