"""Ends of intervals, and figures next to them, recomputed from the rows of runs."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

from tests.factory import Case
from tests.factory_tables import SAMPLE_SCHEMA
from tests.unit.analysis.conftest import asks, measured, session_of

REPEATS = 6


def drawn(ms, seed):
    """Step times of six repeats that vary by 1 %."""
    return (ms * np.exp(0.01 * np.random.default_rng(seed).standard_normal(REPEATS))).tolist()


def ends_of_median(values):
    """The median of the values and the ends of its interval, between order statistics (Hettmansperger and Sheather)."""
    ordered, n = np.sort(values), len(values)
    outside = [2 * stats.binom.cdf(k - 1, n, 0.5) for k in range(n // 2 + 2)]
    k = max(k for k in range(1, n // 2 + 1) if outside[k] <= 0.05)
    part = (0.05 - outside[k]) / (outside[k + 1] - outside[k])
    weight = (n - k) * part / (k + (n - 2 * k) * part)
    low, high = (1 - weight) * ordered[[k - 1, n - k]] + weight * ordered[[k, n - k - 1]]
    return [low, np.median(ordered), high]


def named(row, name):
    return [row[f"{name}_lo"], row[name], row[f"{name}_hi"]]


@measured(Case(name="ddp", repeats=REPEATS, step_ms={2: drawn(54.0, 2)}, device_type="cuda"))
def test_energy_per_example_is_that_of_the_median_run_with_its_interval(ask):
    (row,) = ask("FROM energy")
    runs = ask("SELECT energy_j / (examples_per_step * measured_steps) AS energy FROM hardware_use")
    found = ends_of_median([np.log(run["energy"]) for run in runs])
    assert row["energy_repeats"] == REPEATS
    assert named(row, "j_per_example") == pytest.approx(np.exp(found), rel=1e-4)
    assert named(row, "examples_per_j") == pytest.approx(np.exp(-np.array(found))[::-1], rel=1e-4)


def change_samples(path, changed):
    """Replace the rows of a file of samples by those that the function makes of them."""
    table = pq.read_table(path)
    rows = pa.Table.from_pylist(changed(table.to_pylist()), schema=SAMPLE_SCHEMA)
    pq.write_table(rows.replace_schema_metadata(table.schema.metadata), path)


def _busier_in_one_run(folder):
    path = folder / "ddp.1x2.r3/samples.node0.parquet"
    change_samples(path, lambda rows: [row | {"other_cpu_pct": 9.0} for row in rows])


@asks(session_of(Case(name="ddp", step_ms={1: 10.0, 2: 6.0}, repeats=4), changed=_busier_in_one_run))
def test_the_busiest_run_is_the_one_with_the_most_other_work(ask):
    (row,) = ask("FROM other_work")
    assert row["other_cpu_share"] == pytest.approx((7 * 0.01 + 0.09) / 8)
    assert (row["other_cpu_share_largest"], row["busiest_run_id"]) == (pytest.approx(0.09), "ddp.1x2.r3")


def _warmer_with_time(folder):
    """The GPU is one degree warmer at each reading, the last of which is long after the measured steps. Its memory was
    empty at the first one."""

    def changed(rows):
        gpu = sorted((row for row in rows if row["device"] == 0), key=lambda row: row["time_ns"])
        gpu.append(gpu[-1] | {"time_ns": 10**12})
        gpu.insert(0, gpu[0] | {"time_ns": -2 * 10**9, "memory_used_bytes": 0})
        return [row | {"temperature_c": 40.0 + place} for place, row in enumerate(gpu)]

    change_samples(folder / "ddp.1x1.r0/samples.node0.parquet", changed)


@asks(
    session_of(
        Case(name="ddp", step_ms={1: 100.0}, repeats=1, device_type="cuda", found_bytes=7),
        changed=_warmer_with_time,
    )
)
def test_a_gpus_temperature_is_the_hottest_of_measured_steps_and_its_first_memory_is_the_earliest(ask):
    (row,) = ask("FROM run_device_stats WHERE device = 0")
    assert (
        row["temperature_c"] == 40 + 2 + 1_200 / 200
    )  # two readings before the barrier, then one each 200 ms
    assert row["memory_used_bytes_first"] == 0


@measured(Case(name="ddp", step_ms={4: 10.0}, jitter=0.1, repeats=1))
def test_a_step_has_the_rank_whose_own_step_took_longest(ask):
    rows = ask("SELECT * FROM steps")
    slowest = {}
    for step in ask("FROM step_stats"):
        ranks = {row["rank"]: row["step_ns"] for row in rows if row["step"] == step["step"]}
        assert len(set(ranks.values())) == 4
        slowest[step["step"]] = max(ranks, key=ranks.get)
        assert step["slowest_rank"] == slowest[step["step"]]
    assert len(set(slowest.values())) > 1


@measured(
    Case(
        name="ddp",
        step_ms={1: 10.0, 2: 6.0, 4: 4.0, 8: 3.0},
        statuses={(n, repeat): "oom" for n in (1, 2) for repeat in range(3)},
    )
)
def test_the_placement_that_fits_is_the_smallest_larger_one(ask):
    rows = ask("FROM memory_remedies ORDER BY world_size")
    assert [(row["world_size"], row["fitting_placement"]) for row in rows] == [(1, "1x4"), (2, "1x4")]
