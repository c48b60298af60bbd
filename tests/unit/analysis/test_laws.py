"""Laws compared with fits that others published and with known laws, and cases in which no law can be known."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.laws.curves import AMDAHL, GUSTAFSON, USL
from analysis.laws.fit import fit
from tests.unit.analysis.published import PUBLISHED


def fitted(law, workers, throughput):
    return fit(law, np.array(workers, float), np.array(throughput, float))


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_fit_is_reproduced(name):
    published = PUBLISHED[name]
    found = fitted(USL, published.workers, published.throughput)
    expected = [published.gamma, published.alpha, published.beta]
    assert found.values.tolist() == pytest.approx(expected, rel=published.digits)
    if published.errors:
        assert found.errors.tolist() == pytest.approx(published.errors, rel=2e-3)


def test_the_published_goodness_of_fit_and_peak_are_reproduced():
    spec = PUBLISHED["specsdm91"]
    found = fitted(USL, spec.workers, spec.throughput)
    _, alpha, beta = found.values
    assert found.r2 == pytest.approx(0.9896, abs=5e-5)
    assert np.sqrt((1 - alpha) / beta) == pytest.approx(96.51956, abs=5e-3)


def test_amdahl_is_the_universal_law_without_coherency():
    published = PUBLISHED["raytracer"]
    found = fitted(AMDAHL, published.workers, published.throughput)
    assert found.values.tolist() == pytest.approx([published.gamma, published.alpha], rel=published.digits)


@pytest.mark.parametrize(
    ("law", "coefficients"),
    [
        (AMDAHL, [0.04]),
        (GUSTAFSON, [0.1]),
        (USL, [0.05, 0.002]),
        (USL, [0.3, 0.0]),
        (USL, [0.0, 0.01]),
    ],
)
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_a_law_is_found_again_whatever_the_unit(law, coefficients, scale):
    workers = np.array([1.0, 2, 3, 8, 16])
    found = fit(law, workers, scale * law.curve(workers, np.array(coefficients)))
    assert found.values.tolist() == pytest.approx([scale, *coefficients], rel=1e-6, abs=1e-12 * scale)
    assert found.is_at_bound == (0.0 in coefficients)


def test_standard_errors_are_those_of_scipys_curve_fit():
    from scipy.optimize import curve_fit

    spec = PUBLISHED["cisco"]
    found = fitted(USL, spec.workers, spec.throughput)
    _, covariance = curve_fit(
        lambda n, gamma, alpha, beta: gamma * n / (1 + alpha * (n - 1) + beta * n * (n - 1)),
        spec.workers,
        spec.throughput,
        p0=found.values,
    )
    assert found.errors == pytest.approx(np.sqrt(np.diag(covariance)), rel=1e-3)


def test_the_covariance_is_that_of_many_fits_to_noise_in_proportion():
    random = np.random.default_rng(1)
    workers = np.array([1.0, 2, 3, 4, 6, 8, 12, 16, 24, 32])
    truth = USL.curve(workers, np.array([0.05, 0.002]))
    fits = [fit(USL, workers, truth * random.lognormal(0, 0.005, len(workers))) for _ in range(400)]
    values = np.array([[np.log(one.values[0]), *one.values[1:]] for one in fits])
    expected = np.cov(values.T)
    assert np.mean([one.covariance for one in fits], axis=0) == pytest.approx(expected, rel=0.15)


WORKERS = (1, 2, 4, 8)
DEGENERATE = {
    "perfect scaling": (100, 200, 400, 800),
    "constant throughput": (100, 100, 100, 100),
    "every worker costs": (100, 50, 25, 12.5),
    "collapse": (100, 5, 1, 0.1),
    "superlinear": (100, 300, 900, 2700),
    "down and up again": (100, 10, 10, 100),
}
"""Name -> throughput at 1, 2, 4 and 8 workers."""


@pytest.mark.parametrize("law", [AMDAHL, GUSTAFSON, USL], ids=lambda law: law.name)
@pytest.mark.parametrize("name", DEGENERATE)
def test_no_measurement_breaks_a_fit(law, name):
    found = fitted(law, WORKERS, DEGENERATE[name])
    assert np.isfinite(found.values).all()
    assert (found.values >= 0).all()
    assert (found.values[1:] <= law.upper).all()


@pytest.mark.parametrize(
    ("name", "law", "coefficients", "r2"),
    [
        ("perfect scaling", USL, [0, 0], 1.0),
        ("perfect scaling", AMDAHL, [0], 1.0),
        ("perfect scaling", GUSTAFSON, [0], 1.0),
        ("constant throughput", USL, [1, 0], None),
        ("constant throughput", AMDAHL, [1], None),
        ("constant throughput", GUSTAFSON, [1], None),
        ("superlinear", USL, [0, 0], pytest.approx(0.9266, abs=1e-4)),
        ("every worker costs", AMDAHL, [1], pytest.approx(0, abs=1e-9)),
    ],
)
def test_at_the_ends_of_a_law_its_coefficients_are_exactly_their_bounds(name, law, coefficients, r2):
    found = fitted(law, WORKERS, DEGENERATE[name])
    assert found.values[1:].tolist() == coefficients
    assert found.is_at_bound
    assert found.r2 == r2


def test_a_hundred_million_workers_are_fitted_like_a_hundred():
    workers = np.array([1.0, 1e2, 1e4, 1e6, 1e8])
    found = fit(USL, workers, 50 * USL.curve(workers, np.array([1e-6, 1e-13])))
    assert found.values.tolist() == pytest.approx([50, 1e-6, 1e-13], rel=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_no_other_start_finds_a_better_curve(seed):
    """The curve is not convex in its coefficients: the start decides where the iteration ends."""
    from scipy.optimize import least_squares

    random = np.random.default_rng(seed)
    workers = np.array([1.0, 2, 4, 8, 16])
    truth = USL.curve(workers, np.array([10 ** random.uniform(-3, -1), 10 ** random.uniform(-5, -2)]))
    throughput = truth * random.lognormal(0, 0.1, len(workers))
    found = fit(USL, workers, throughput)

    def residuals(values):
        return values[0] * USL.curve(workers, values[1:]) - throughput

    others = [
        2 * least_squares(residuals, start, bounds=([0, 0, 0], [np.inf, 1, np.inf]), x_scale="jac").cost
        for start in random.uniform([0.5, 0, 0], [2, 0.5, 0.1], (20, 3))
    ]
    assert np.sum(residuals(found.values) ** 2) <= min(others) * (1 + 1e-6)


@pytest.mark.parametrize("law", [USL, AMDAHL])
def test_workers_that_add_nothing_at_all_are_on_the_bound(law):
    workers = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    for throughput in (np.full(5, 100.0), 100 / workers):
        assert fit(law, workers, throughput).is_at_bound
