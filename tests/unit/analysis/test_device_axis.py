"""GPUs over a baseline of CPU cores: how many cores' work they do, and no efficiency of a core."""

from __future__ import annotations

import pytest

from analysis.wording.headline import headline
from tests.factory import Case
from tests.unit.analysis.conftest import measured

CORES = Case(
    name="cores", axis="threads", strategy="single", step_ms={1: [40.0, 41.0], 2: [20.0, 21.0]}, repeats=2
)
GPU = Case(
    name="gpu", device_type="cuda", step_ms={1: [1.0, 1.1], 2: [2.0, 2.1]}, repeats=2, baseline="cores"
)


cores_and_gpu = measured(CORES, GPU)


@pytest.fixture
def rows(ask):
    return ask("FROM scaling ORDER BY case_name, workers")


@cores_and_gpu
def test_the_speedup_is_over_one_core(rows):
    assert [row["speedup"] for row in rows[2:]] == [
        pytest.approx((40 * 41 / 1.0 / 1.1) ** 0.5), pytest.approx((40 * 41 / 2.0 / 2.1) ** 0.5),
    ]  # fmt: skip
    assert all(row["speedup_min"] < row["speedup"] < row["speedup_max"] for row in rows[2:])
    assert {row["baseline_axis"] for row in rows[2:]} == {"threads"}


@cores_and_gpu
def test_a_gpu_has_no_efficiency_of_a_core_and_no_verdict(rows):
    for name in (
        "efficiency",
        "efficiency_lo",
        "efficiency_hi",
        "karp_flatt",
        "verdict",
        "verdict_lo",
    ):
        assert [row[name] for row in rows[2:]] == [None, None], name
    assert [row["repeats_needed"] for row in rows[2:]] == [3, 3]  # two repeats give no interval
    assert rows[1]["verdict"] == "undecided"  # of two cores over one


@measured(CORES, Case(name="gpu", device_type="cuda", step_ms={1: 1.0, 2: 0.55}))
def test_over_its_own_kind_a_gpu_is_judged(ask):
    assert ask("FROM scaling WHERE case_name = 'gpu' ORDER BY workers")[1]["verdict"] == "excellent"


@cores_and_gpu
def test_the_headline_names_the_baselines_axis_and_both_devices(rows):
    assert headline([row for row in rows if row["case_name"] == "gpu" or row["is_baseline"]]) == (
        "gpu on 2 ranks is 19.8 times as fast as cores on 1 thread; how sure is not known; cuda against cpu, so "
        "without efficiency."
    )


@measured(CORES, Case(name="gpu", device_type="cuda", step_ms={1: 1.0, 2: 0.6, 4: 0.4}, baseline="cores"))
def test_no_law_predicts_a_speedup_over_another_kind_of_device(ask):
    rows = ask("FROM scaling_prediction WHERE case_name = 'gpu'")
    assert {row["kind"] for row in rows} == {"measured", "predicted"}
    assert all(row["throughput"] > 0 for row in rows)
    assert {row["speedup"] for row in rows} == {row["efficiency"] for row in rows} == {None}
