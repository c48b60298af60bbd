"""Rounds of repeats: by how much they differ, and whether the position in a round makes a difference."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import f, t

from analysis.loading.derive import derive_and_diagnose
from benchmarks.coverage import empty_database
from tests.unit.analysis.conftest import Rows, fetch

SIZES, ROUNDS = 3, 5
RUN = """
    'ok' AS status, 'strong' AS scaling_mode, 'ranks' AS axis, 64 AS examples_per_step, false AS oversubscribed,
    1 AS nodes,
    workers AS ranks_per_node, workers AS world_size, 1 AS threads, 'ddp' AS case_name
"""


def made(logs: np.ndarray, position: np.ndarray, left_out: tuple[tuple[int, int], ...] = ()) -> Rows:
    """The table rounds of a session with these ln(step time), by round and size, and these positions."""
    rounds, sizes = np.indices(logs.shape)
    rows = pa.table(
        {
            "repeat": rounds.ravel(),
            "round": rounds.ravel(),
            "position": position.ravel(),
            "workers": 2 ** sizes.ravel(),
            "span_ns": np.rint(np.exp(logs) * 1e12).astype(np.int64).ravel(),
            "is_ok": [place not in left_out for place in zip(rounds.ravel(), sizes.ravel(), strict=True)],
        }
    )
    key = "'s' AS session_id, workers || '.' || repeat AS run_id, 0 AS attempt"
    with empty_database() as connection:
        connection.register("rows", rows)
        for table, columns in (
            ("runs", f"repeat, round, position, workers, {RUN}"),
            ("run_stats", "100 AS measured_steps, span_ns"),
        ):
            connection.execute(f"INSERT INTO {table} BY NAME SELECT {key}, {columns} FROM rows WHERE is_ok")
        derive_and_diagnose(connection, ["s"], (), wanted=["rounds"])
        return fetch(connection, "FROM rounds ORDER BY round")


@pytest.fixture(scope="module")
def drawn() -> tuple[np.ndarray, np.ndarray]:
    """ln(step time) with effects of size, round and position, and the positions."""
    random = np.random.default_rng(1)
    position = np.array([random.permutation(SIZES) for _ in range(ROUNDS)])
    logs = random.normal(0, 0.02, (ROUNDS, SIZES)) + np.array([0.0, -0.6, -1.1])
    return logs + random.normal(0, 0.05, (ROUNDS, 1)) + 0.03 * position, position


def residual_squares(logs: np.ndarray, *columns: np.ndarray) -> float:
    """Sum of squares that a linear model of these columns and a constant leaves."""
    design = np.column_stack([np.ones(logs.size), *columns])
    _, squares, *_ = np.linalg.lstsq(design, logs.ravel(), rcond=None)
    return float(squares[0])


def dummies(place: np.ndarray) -> list[np.ndarray]:
    return [(place == value).ravel().astype(float) for value in np.unique(place)[1:]]


def test_the_tests_are_those_of_nested_linear_models(drawn):
    logs, position = drawn
    rounds, sizes = np.indices(logs.shape)
    of_size = residual_squares(logs, *dummies(sizes))
    of_both = residual_squares(logs, *dummies(sizes), *dummies(rounds))
    of_all = residual_squares(logs, *dummies(sizes), *dummies(rounds), position.ravel().astype(float))
    df = (ROUNDS - 1) * (SIZES - 1)
    p_rounds = f.sf((of_size - of_both) / (ROUNDS - 1) / (of_both / df), ROUNDS - 1, df)
    p_position = f.sf((of_both - of_all) / (of_all / (df - 1)), 1, df - 1)
    (row, *others) = made(logs, position)
    assert (row["sizes"], len(others)) == (SIZES, ROUNDS - 1)
    assert row["p_rounds"] == pytest.approx(p_rounds, rel=1e-6)
    assert row["p_position"] == pytest.approx(p_position, rel=1e-6)


def test_a_rounds_ratio_is_its_throughput_over_that_of_all_rounds(drawn):
    logs, position = drawn
    ratios = np.exp(logs.mean() - logs.mean(axis=1))
    rows = made(logs, position)
    assert [row["round_ratio"] for row in rows] == pytest.approx(list(ratios), rel=1e-9)
    # a mean over sizes minus one over all, of a two-way analysis of variance
    rounds, sizes = np.indices(logs.shape)
    df = (ROUNDS - 1) * (SIZES - 1)
    variance = residual_squares(logs, *dummies(sizes), *dummies(rounds)) / df
    half = t.ppf(0.975, df) * np.sqrt(variance / SIZES * (1 - 1 / ROUNDS))
    assert [row["round_ratio_lo"] for row in rows] == pytest.approx(list(ratios * np.exp(-half)), rel=1e-5)
    assert [row["round_ratio_hi"] for row in rows] == pytest.approx(list(ratios * np.exp(half)), rel=1e-5)


def test_a_known_effect_of_position_is_found():
    position = np.array([[0, 1, 2], [2, 0, 1], [1, 2, 0], [0, 2, 1]])
    (row, *_) = made(0.05 * position + np.array([0.0, -0.6, -1.1]), position)
    assert row["position_ratio"] == pytest.approx(np.exp(-0.1), rel=1e-6)


def test_in_a_fixed_order_an_effect_of_position_cannot_be_told(drawn):
    logs, _ = drawn
    (row, *_) = made(logs, np.indices(logs.shape)[1])
    assert (row["position_ratio"], row["p_position"]) == (None, None)
    assert row["p_rounds"] is not None


def test_the_sizes_and_rounds_that_keep_the_most_runs_are_compared(drawn):
    logs, position = drawn
    rows = made(logs, position, left_out=((2, 1),))
    assert (rows[0]["sizes"], len(rows)) == (SIZES, ROUNDS - 1)
    rows = made(logs, position, left_out=((2, 1), (3, 1), (4, 1)))
    assert (rows[0]["sizes"], len(rows)) == (SIZES - 1, ROUNDS)
    rows = made(logs, position, left_out=((2, 0), (2, 1), (2, 2)))
    assert [row["round"] for row in rows] == [0, 1, 3, 4]


def test_effects_without_a_rest_have_no_probability():
    position = np.array([[0, 1, 2], [2, 0, 1], [1, 2, 0], [0, 2, 1]])
    (row, *_) = made(0.05 * position + np.array([[0.0], [0.1], [0.2], [0.3]]), position)
    assert row["p_position"] is None
    assert 0 <= row["p_rounds"] <= 1


@pytest.mark.parametrize("shape", [(1, 3), (5, 1)])
def test_one_round_or_one_size_has_nothing_to_compare(shape):
    assert made(np.zeros(shape), np.zeros(shape, int)) == []
