"""The cost of runs and how much their times vary, against NumPy and SciPy."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import bartlett

from analysis.loading.derive import derive_and_diagnose
from benchmarks.coverage import empty_database
from tests.factory import Case, make_session
from tests.unit.analysis.conftest import Rows, fetch

STEPS, START_S, PAUSE_S = 100, 3.0, 0.5
STEP_SD, AUTOCORRELATION = 0.02, 2.0
STEPS_VARIANCE = STEP_SD**2 * AUTOCORRELATION / STEPS
RUN = """
    'ok' AS status, 'strong' AS scaling_mode, 'ranks' AS axis, 64 AS examples_per_step, false AS oversubscribed,
    1 AS nodes, workers AS ranks_per_node, workers AS world_size, 1 AS threads
"""
STATS = f"""
    {STEPS} AS measured_steps, span_ns, {STEP_SD} * 1e6 AS step_ns_std, 1e6 AS step_ns_mean,
    {AUTOCORRELATION} AS autocorrelation_steps
"""


def made(logs: np.ndarray, left_out: tuple[tuple[int, int], ...] = (), *, is_one_case: bool = True) -> Rows:
    """The table of a session with these ln(time), by round and size: of one case, or of cases of one size each."""
    rounds, sizes = (index.ravel() for index in np.indices(logs.shape))
    span_s = np.exp(logs).ravel()
    began = np.cumsum([0.0, *(span_s[:-1] + START_S + PAUSE_S)])
    rows = pa.table(
        {
            "repeat": rounds,
            "round": rounds,
            "workers": 2**sizes if is_one_case else np.ones_like(sizes),
            "case_name": ["ddp" if is_one_case else f"case{size}" for size in sizes],
            "span_ns": np.rint(span_s * 1e9).astype(np.int64),
            "elapsed_s": span_s + START_S,
            "started_at": [datetime(2026, 11, 24) + timedelta(seconds=float(second)) for second in began],
            "is_ok": [place not in left_out for place in zip(rounds, sizes, strict=True)],
        }
    )
    key = "'s' AS session_id, case_name || '.' || workers || '.' || repeat AS run_id, 0 AS attempt"
    with empty_database() as connection:
        connection.register("rows", rows)
        for table, columns in (
            ("runs", f"repeat, round, workers, case_name, elapsed_s, started_at, {RUN}"),
            ("run_stats", STATS),
        ):
            connection.execute(f"INSERT INTO {table} BY NAME SELECT {key}, {columns} FROM rows WHERE is_ok")
        derive_and_diagnose(connection, ["s"], (), wanted=["variance_components"])
        return fetch(connection, "FROM variance_components ORDER BY case_name, workers")


def noise(rounds: int, deviations: tuple[float, ...], of_round: float = 0.05) -> np.ndarray:
    random = np.random.default_rng(7)
    return (
        random.normal(0, deviations, (rounds, len(deviations)))
        + random.normal(0, of_round, (rounds, 1))
        - np.log(2) * np.arange(len(deviations))
    )


def own_variances(logs: np.ndarray) -> np.ndarray:
    """Each size's own variance between runs of a round: the least squares solution of var(i - j) = own(i) + own(j)."""
    sizes = logs.shape[1]
    pairs = [(i, j) for i in range(sizes) for j in range(i)]
    design = np.array([[float(size in pair) for size in range(sizes)] for pair in pairs])
    variances = np.array([np.var(logs[:, i] - logs[:, j], ddof=1) for i, j in pairs])
    return np.linalg.lstsq(design, variances)[0]


def residuals(logs: np.ndarray) -> np.ndarray:
    return logs - logs.mean(axis=0) - logs.mean(axis=1, keepdims=True) + logs.mean()


def test_the_parts_are_those_of_the_differences_between_sizes():
    logs = noise(10, (0.02, 0.02, 0.05, 0.03))
    rows = made(logs)
    assert [row["run_sd"] for row in rows] == pytest.approx(
        np.sqrt(np.maximum(own_variances(logs) - STEPS_VARIANCE, 0)), rel=1e-6
    )
    covariances = np.cov(logs.T)[np.triu_indices(4, 1)]
    assert rows[0]["round_sd"] == pytest.approx(np.sqrt(covariances.mean()), rel=1e-6)
    assert [row["log_variance"] for row in rows] == pytest.approx(logs.var(axis=0, ddof=1), rel=1e-6)
    ratios = (logs[:, 1:] - logs[:, :1]).var(axis=0, ddof=1)
    assert [row["ratio_variance"] for row in rows] == [
        None,
        *(pytest.approx(ratio, rel=1e-6) for ratio in ratios),
    ]
    assert {(row["runs"], row["placements"], row["rounds"]) for row in rows} == {(10, 4, 10)}


def test_a_start_is_all_but_the_measured_steps():
    rows = made(noise(3, (0.01, 0.01)))
    assert [row["start_s"] for row in rows] == pytest.approx([START_S + PAUSE_S] * 2, abs=1e-5)
    assert [row["steps_sd"] for row in rows] == pytest.approx([STEPS_VARIANCE**0.5] * 2)


def test_equal_sizes_are_pooled_as_bartletts_test_allows():
    logs = noise(6, (0.02, 0.02, 0.02, 0.02))
    (row, *_) = made(logs)
    rest = residuals(logs)
    assert row["p_equal"] == pytest.approx(bartlett(*rest.T).pvalue, rel=1e-3)
    assert row["p_equal"] > 0.25
    pooled = (rest**2).sum() / (5 * 3)
    assert row["run_sd_pooled"] == pytest.approx((pooled - STEPS_VARIANCE) ** 0.5, rel=1e-6)


@pytest.mark.parametrize("noisy", [0, 3])
def test_one_noisy_size_is_not_averaged_away(noisy):
    rows = made(noise(6, tuple(0.08 if size == noisy else 0.01 for size in range(4))))
    assert rows[0]["p_equal"] < 0.25
    largest = rows[noisy]["run_sd"]
    assert largest == max(row["run_sd"] for row in rows)
    assert {row["run_sd_pooled"] for row in rows} == {largest}


@pytest.mark.parametrize(("rounds", "sizes"), [(4, 4), (6, 3)])
def test_too_few_rounds_or_sizes_test_nothing(rounds, sizes):
    rows = made(noise(rounds, (0.02,) * sizes))
    assert [row["p_equal"] for row in rows] == [None] * sizes
    assert rows[0]["run_sd_pooled"] == max(row["run_sd"] for row in rows)


def test_two_sizes_share_the_variance_of_their_difference():
    logs = noise(5, (0.03, 0.03))
    half = np.var(logs[:, 0] - logs[:, 1], ddof=1) / 2 - STEPS_VARIANCE
    assert [row["run_sd"] for row in made(logs)] == pytest.approx([half**0.5] * 2, rel=1e-6)


def test_cases_of_one_size_are_compared_with_each_other():
    logs = noise(8, (0.02, 0.03, 0.05))
    rows = made(logs, is_one_case=False)
    assert [row["run_sd"] for row in rows] == pytest.approx(
        np.sqrt(np.maximum(own_variances(logs) - STEPS_VARIANCE, 0)), rel=1e-6
    )
    assert [row["baseline_id"] for row in rows] == [None] * 3


def test_a_missing_run_leaves_the_other_rounds():
    logs = noise(5, (0.02, 0.03, 0.05))
    rows = made(logs, left_out=((2, 1),))
    kept = np.delete(logs[:, 1] - logs[:, 0], 2)
    assert (rows[1]["ratio_rounds"], rows[1]["rounds"]) == (4, 4)
    assert rows[1]["ratio_variance"] == pytest.approx(kept.var(ddof=1), rel=1e-6)


@pytest.mark.parametrize(("rounds", "sizes"), [(1, 3), (3, 1)])
def test_what_cannot_be_known_is_null(rounds, sizes):
    for row in made(noise(rounds, (0.02,) * sizes)):
        unknown = ("run_sd", "run_sd_pooled", "round_sd", "placements", "p_equal", "ratio_variance")
        assert [row[name] for name in unknown] == [None] * len(unknown)
        assert (row["log_variance"] is None) == (rounds == 1)


def test_sessions_differ_by_more_than_their_runs(results, read_back):
    random = np.random.default_rng(3)
    logs = np.log(20) + random.normal(0, 0.1, (6, 1)) + random.normal(0, 0.02, (6, 4))
    for number, of_session in enumerate(logs):
        times = np.rint(np.exp(of_session) * 1e6) / 1e6
        make_session(
            results, [Case(name="ddp", step_ms={1: times.tolist()}, repeats=4)], session_id=f"s{number}"
        )
    (row,) = read_back()("FROM session_components")
    expected = logs.mean(axis=1).var(ddof=1) - logs.var(axis=1, ddof=1).mean() / 4
    assert (row["sessions"], row["session_sd"]) == (6, pytest.approx(expected**0.5, rel=1e-4))
