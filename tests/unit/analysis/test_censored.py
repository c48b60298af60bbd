"""The mean of normal values of which some are only known to exceed a limit, compared with scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats


def known_of(in_memory, known, limits, count=None):
    found = in_memory.execute(
        "SELECT mean_with_limits($known::DOUBLE[], $limits::DOUBLE[], $count)",
        {"known": known, "limits": limits, "count": count or len(known) + len(limits)},
    ).fetchone()
    return found[0]


@pytest.mark.parametrize("z", [-5.0, -2.0, 0.0, 1.0, 3.0, 10.0, 30.0, 60.0])
def test_the_mean_above_a_limit_is_the_inverse_of_mills_ratio(in_memory, z):
    (found,) = in_memory.execute("SELECT mean_above($z)", {"z": z}).fetchone()
    assert found == pytest.approx(np.exp(stats.norm.logpdf(z) - stats.norm.logsf(z)), rel=1e-5)


@pytest.mark.parametrize("limits", [[1.3], [1.35, 1.35, 1.35], [0.9, 2.0], [1.1, 1.2, 1.3, 1.4, 1.5]])
def test_the_fit_is_the_most_likely_normal_distribution_with_the_variance_of_its_information(
    in_memory, limits
):
    known = [1.0, 1.2, 0.8, 1.1, 0.9, 1.3]

    def cost(mean: float, sd: float) -> float:
        return -(stats.norm.logpdf(known, mean, sd).sum() + stats.norm.logsf(limits, mean, sd).sum())

    best = optimize.minimize(
        lambda at: cost(at[0], np.exp(at[1])),
        [1, -1],
        method="Nelder-Mead",
        options={"xatol": 1e-10, "fatol": 1e-13},
    ).x
    mean, sd, h = best[0], np.exp(best[1]), 1e-4

    def curvature(one: tuple[float, float], other: tuple[float, float]) -> float:
        steps = [
            (i * one[0] + j * other[0], i * one[1] + j * other[1], i * j) for i in (1, -1) for j in (1, -1)
        ]
        return sum(sign * cost(mean + h * a, sd + h * b) for a, b, sign in steps) / (4 * h * h)

    by = ((1, 0), (0, 1))
    information = np.array([[curvature(one, other) for other in by] for one in by])
    n = len(known) + len(limits)
    found = known_of(in_memory, known, limits)
    assert found["kind"] == "fit"
    assert found["mean"] == pytest.approx(mean, abs=1e-7)
    assert found["variance"] == pytest.approx(np.linalg.inv(information)[0, 0] * n / (n - 1), rel=1e-4)


def test_without_limits_it_is_the_mean_and_its_variance(in_memory):
    assert known_of(in_memory, [1.0, 2.0, 4.0], []) == {
        "mean": pytest.approx(7 / 3), "variance": pytest.approx(7 / 9), "units": 3, "kind": "mean",
    }  # fmt: skip


@pytest.mark.parametrize("known", [[1.0, 2.0], [1.0, 2.0, 3.0], [2.0, 2.0, 2.0, 2.0], []])
def test_if_half_the_values_or_more_exceed_their_limit_or_nothing_varies_the_mean_is_a_bound(
    in_memory, known
):
    found = known_of(in_memory, known, [3.0, 3.0, 3.0])
    assert found["kind"] == "bound"
    assert found["mean"] == pytest.approx((sum(known) + 9) / (len(known) + 3))


def test_nothing_is_known_if_a_value_is_missing_and_no_distribution_can_be_fitted(in_memory):
    assert known_of(in_memory, [1.0, 2.0], [3.0], count=4) is None
    assert known_of(in_memory, [1.0, 2.0, 4.0], [], count=4)["kind"] == "fit"
