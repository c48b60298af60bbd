"""Laws compared with fits of other programs and with known laws, and cases in which no law can be known."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import curve_fit, least_squares, minimize

from analysis.laws.curves import AMDAHL, GUSTAFSON, USL
from analysis.laws.fit import fit
from analysis.laws.predict import interval, left_out_error, predicted
from analysis.laws.preferred_law import beyond_amdahl_p, preferred
from tests.unit.analysis.published import PUBLISHED

DLPERF = Path(__file__).with_name("dlperf_resnet50_amp.csv")
LAWS = [AMDAHL, GUSTAFSON, USL]


def fitted(law, workers, throughput, rounds=None):
    return fit(law, np.array(workers, float), np.log(np.array(throughput, float)), rounds)


def made(law, coefficients, sizes, *, repeats=3, noise=0.02, seed=0):
    """Workers and throughput of made-up runs, by repeat and size."""
    workers = np.tile(np.array(sizes, float), repeats)
    logs = law.log_curve(workers, np.array(coefficients, float))
    return workers, np.exp(logs + np.random.default_rng(seed).normal(0, noise, len(workers)))


def values(found):
    return [np.exp(found.log_gamma), *found.coefficients.tolist()]


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_curve_is_the_one_of_published_fits(name):
    """They fit throughput itself, not its logarithm."""
    published = PUBLISHED[name]
    workers, throughput = np.array(published.workers, float), np.array(published.throughput, float)
    found = least_squares(
        lambda x: np.exp(x[0] + USL.log_curve(workers, np.maximum(x[1:], 0))) - throughput,
        [np.log(published.gamma), published.alpha, published.beta],
        bounds=([-np.inf, 0, 0], [np.inf, 1, np.inf]),
        x_scale=[1, 1e-2, 1e-4],
        xtol=1e-15,
        ftol=1e-15,
        gtol=1e-15,
    ).x
    expected = [published.gamma, published.alpha, published.beta]
    assert [np.exp(found[0]), *found[1:]] == pytest.approx(expected, rel=published.digits, abs=1e-9)


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_fit_is_that_of_least_squares_in_the_logarithm(name):
    published = PUBLISHED[name]
    workers, logs = np.array(published.workers, float), np.log(published.throughput)
    found = fit(USL, workers, logs)
    expected = least_squares(
        lambda x: x[0] + USL.log_curve(workers, x[1:]) - logs,
        [found.log_gamma, *np.maximum(found.coefficients, 1e-9)],
        bounds=([-np.inf, 0, 0], [np.inf, 1, np.inf]),
        x_scale=[1, 1e-2, 1e-4],
        xtol=1e-15,
        ftol=1e-15,
        gtol=1e-15,
    )
    assert [found.log_gamma, *found.coefficients] == pytest.approx(expected.x.tolist(), rel=1e-5, abs=1e-7)
    assert found.misfit <= 2 * expected.cost * (1 + 1e-9)


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
    found = fitted(law, workers, scale * np.exp(law.log_curve(workers, np.array(coefficients))))
    assert values(found) == pytest.approx([scale, *coefficients], rel=1e-6, abs=1e-12 * scale)
    assert found.is_at_bound == (0.0 in coefficients)
    assert found.lack_of_fit_p is None


def test_standard_errors_are_those_of_scipys_curve_fit():
    workers, throughput = made(USL, [0.05, 0.002], [1, 2, 4, 8, 16])
    found = fitted(USL, workers, throughput)
    _, covariance = curve_fit(
        lambda n, g, a, b: g + np.log(n / (1 + a * (n - 1) + b * n * (n - 1))),
        workers,
        np.log(throughput),
        p0=[found.log_gamma, *found.coefficients],
    )
    assert found.errors == pytest.approx(np.sqrt(np.diag(covariance)), rel=1e-4)


def test_the_fit_of_runs_is_that_with_an_effect_of_each_round():
    """A round lacks a size, so the means of sizes are not enough."""
    workers, throughput = made(USL, [0.05, 0.002], [1, 2, 4, 8, 16])
    rounds = np.repeat([3, 5, 9], 5)
    kept = np.arange(15) != 9
    workers, rounds, logs = workers[kept], rounds[kept], np.log(throughput[kept]) + 0.2 * (rounds[kept] == 5)
    found = fit(USL, workers, logs, rounds.tolist())
    expected = least_squares(
        lambda x: x[0] + USL.log_curve(workers, x[1:3]) + x[3] * (rounds == 5) + x[4] * (rounds == 9) - logs,
        [0, 0.05, 0.002, 0, 0],
        x_scale=[1, 0.01, 1e-3, 1, 1],
        xtol=1e-15,
        ftol=1e-15,
        gtol=1e-15,
    )
    assert found.coefficients == pytest.approx(expected.x[1:3], rel=1e-5)
    assert found.log_gamma == pytest.approx(expected.x[0] + (expected.x[3] + expected.x[4]) / 3)
    assert (found.squares, found.degrees) == (pytest.approx(2 * expected.cost), 14 - 5)


def test_what_a_round_has_in_common_changes_nothing_else():
    workers, throughput = made(USL, [0.05, 0.002], [1, 2, 4, 8])
    rounds = np.repeat([0, 1, 2], 4)
    shifted = throughput * np.exp(np.array([-0.3, 0.1, 0.2])[rounds])
    one, other = (fitted(USL, workers, x, rounds.tolist()) for x in (throughput, shifted))
    assert values(other) == pytest.approx(values(one), rel=1e-6)
    assert other.lack_of_fit_p == pytest.approx(one.lack_of_fit_p, rel=1e-6)
    assert fitted(USL, workers, shifted).variance > 10 * other.variance


@pytest.mark.parametrize("rounds", [[None] * 12, [*range(11), None], [int(n) for n in 3 * (1, 2, 4, 8)]])
def test_rounds_that_are_unknown_or_each_of_one_size_have_no_effects(rounds):
    workers, throughput = made(USL, [0.05, 0.002], [1, 2, 4, 8])
    assert fitted(USL, workers, throughput, rounds).degrees == 9


def dlperf():
    """Workers and throughput of the published repeats of DLPerf's ResNet-50."""
    with DLPERF.open() as file:
        rows = list(csv.DictReader(file))
    return [int(row["world_size"]) for row in rows], [
        float(row["examples"]) / float(row["seconds"]) for row in rows
    ]


def test_published_repeats_reject_gustafsons_law_and_accept_the_universal_one():
    workers, throughput = dlperf()
    gustafson, usl = (fitted(law, workers, throughput) for law in (GUSTAFSON, USL))
    assert gustafson.lack_of_fit_p < 1e-6
    assert gustafson.is_rejected
    assert usl.lack_of_fit_p > 0.05
    assert not usl.is_rejected
    assert usl.coefficients[0] == pytest.approx(0.004, abs=0.0005)
    assert preferred(gustafson, usl) is usl


def test_the_lack_of_fit_compares_means_with_the_curve_and_runs_with_means():
    workers, throughput = dlperf()
    found = fitted(GUSTAFSON, workers, throughput)
    runs = np.log(throughput).reshape(5, 5)  # sizes, repeats
    means = runs.mean(axis=1)
    noise = np.sum((runs - means[:, None]) ** 2) / 20
    misfit = 5 * np.sum((means - found.log_throughput(np.unique(workers).astype(float))) ** 2) / 3
    assert found.lack_of_fit_p == pytest.approx(stats.f.sf(misfit / noise, 3, 20), rel=1e-6)


def test_rounding_is_no_lack_of_fit():
    workers = np.tile([1.0, 2, 4, 8], 3)
    throughput = np.exp(AMDAHL.log_curve(workers, np.array([0.04]))) * (1 + 1e-8 * (workers == 4))
    assert fitted(AMDAHL, workers, throughput).lack_of_fit_p > 0.99
    assert fitted(AMDAHL, workers, throughput * (1 + 1e-3 * (workers == 4))).is_rejected


CASES = [
    (AMDAHL, [0.04], (1, 2, 4, 8)),
    (GUSTAFSON, [0.1], (1, 2, 4, 8)),
    (USL, [0.05, 0.002], (1, 2, 4, 8)),
    (USL, [0.02, 0.0001], (1, 2, 4, 8)),
    (USL, [0.3, 0.0], (2, 4, 8, 16)),
    (USL, [0.0, 0.01], (8, 16, 24, 32, 64)),
]


@pytest.mark.parametrize(("law", "coefficients", "sizes"), CASES)
def test_the_interval_of_a_prediction_is_its_range_over_all_curves_that_are_likely_enough(
    law, coefficients, sizes
):
    """Found again by constrained optimisation from several starts."""
    found = fitted(law, *made(law, coefficients, sizes))
    means, size = found.means, np.array([4.0 * sizes[-1]])
    limit = found.misfit + found.variance * stats.t.ppf(0.975, found.degrees) ** 2
    scales = np.array([1, 1e-2, 1e-4][: law.parameters])

    def slack(x):
        rest = means.logs - x[0] - law.log_curve(means.workers, x[1:] * scales[1:])
        return 1 - rest @ means.precision @ rest / limit

    def farthest(sign):
        curves = found.region.coefficients
        tries = [
            minimize(
                lambda x: -sign * (x[0] + law.log_curve(size, x[1:] * scales[1:])[0]),
                np.array([found.log_gamma, *start]) / scales,
                bounds=[(None, None), (0, 100), (0, None)][: law.parameters],
                constraints=[{"type": "ineq", "fun": slack}],
                method="SLSQP",
                options={"maxiter": 500, "ftol": 1e-12},
            )
            for start in curves[:: len(curves) // 4]
        ]
        return sign * max(-one.fun for one in tries if one.success and slack(one.x) > -1e-6)

    expected = farthest(-1), farthest(1)
    width = expected[1] - expected[0]
    low, high = found.region.log_interval(lambda every: law.log_curve(size, every)[..., 0])
    assert (low, high) == pytest.approx(expected, abs=0.01 * width)


def test_at_a_bound_the_interval_of_the_coefficient_starts_there():
    found = fitted(USL, *made(USL, [0.3, 0.0], [1, 2, 4, 8], seed=1))
    assert (found.coefficients[1], found.is_at_bound, found.errors) == (0, True, None)
    low, high = found.region.interval(lambda coefficients: coefficients[..., 1])
    assert low == 0 < high
    low, high = interval(found, 32.0)
    assert low < predicted(found, 32.0) <= high


def test_with_exact_runs_every_interval_is_a_point():
    found = fitted(USL, *made(USL, [0.05, 0.002], [1, 2, 4, 8], noise=0))
    assert interval(found, 32.0) == pytest.approx([predicted(found, 32.0)] * 2, abs=1e-5)


def test_amdahls_law_is_named_unless_coherency_explains_more_than_chance():
    amdahl, usl = (fitted(law, *made(AMDAHL, [0.04], [1, 2, 4, 8, 16], seed=2)) for law in (AMDAHL, USL))
    p = stats.f.sf((amdahl.squares - usl.squares) / usl.variance, 1, usl.degrees)
    assert beyond_amdahl_p(amdahl, usl) == pytest.approx(p, abs=1e-9)
    assert p > 0.05
    assert preferred(amdahl, usl) is amdahl
    runs = made(USL, [0.05, 0.002], [1, 2, 4, 8, 16])
    amdahl, usl = (fitted(law, *runs) for law in (AMDAHL, USL))
    assert preferred(amdahl, usl) is usl


def test_a_law_that_does_not_hold_is_never_named():
    workers = np.tile([1.0, 2, 4, 8], 3)
    stepped = workers * np.where(workers > 2, 0.7, 1) * np.tile([0.999, 1, 1.001], 4)
    for serial in (AMDAHL, GUSTAFSON):
        laws = [fitted(law, workers, stepped) for law in (serial, USL)]
        assert all(law.is_rejected for law in laws)
        assert preferred(*laws) is None


def test_few_runs_do_not_tell_gustafson_and_the_universal_law_apart():
    runs = made(GUSTAFSON, [0.02], [1, 2, 4, 8], repeats=1)
    assert preferred(*(fitted(law, *runs) for law in (GUSTAFSON, USL))) is None


def test_a_serial_law_predicts_no_more_than_linear_growth_from_the_largest_size():
    workers = np.tile([1.0, 2, 4, 8], 3)
    efficiency = np.tile([0.99, 1.01, 1.01, 0.995], 3) * np.repeat([0.98, 1, 1.02], 4)
    throughput = workers * efficiency
    found, universal = (fitted(law, workers, throughput) for law in (AMDAHL, USL))
    last = np.log(throughput[workers == 8]).mean()
    assert not found.is_rejected
    assert found.log_throughput(np.array([8.0]))[0] > last
    assert predicted(found, 8.0) == found.log_throughput(np.array([8.0]))[0]
    assert predicted(found, 16.0) == pytest.approx(last + np.log(2))
    low, high = interval(found, 16.0)
    assert low <= predicted(found, 16.0) <= high
    assert (
        high
        <= last + np.log(2) + np.sqrt(stats.t.ppf(0.975, found.degrees) ** 2 * found.variance / 3) + 1e-12
    )
    assert predicted(universal, 16.0) == universal.log_throughput(np.array([16.0]))[0]


def test_the_left_out_error_is_that_of_a_fit_without_the_largest_size():
    workers, throughput = made(AMDAHL, [0.04], [1, 2, 4, 8, 16])
    throughput = throughput * np.where(workers == 16, 0.8, 1)
    logs, others = np.log(throughput), workers < 16
    found = fit(AMDAHL, workers[others], logs[others])
    measured = logs[~others].mean()
    expected = np.exp(found.log_throughput(np.array([16.0]))[0] - measured) - 1
    rounds = [None] * 15
    assert left_out_error(AMDAHL, workers, logs, rounds, measured) == pytest.approx(expected)
    assert 0.2 < expected < 0.3
    few = workers < 4
    assert left_out_error(USL, workers[few], logs[few], rounds[:6], measured) is None


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


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("repeats", [1, 2])
def test_no_measurement_breaks_a_fit(law, name, repeats):
    found = fitted(law, WORKERS * repeats, DEGENERATE[name] * repeats)
    assert np.isfinite(values(found)).all()
    assert (found.coefficients >= 0).all()
    assert found.coefficients[0] <= 1
    low, high = interval(found, 32.0)
    assert low <= predicted(found, 32.0) <= high
    assert np.isfinite([low, high]).all()


@pytest.mark.parametrize(
    ("name", "law", "coefficients", "r2"),
    [
        ("perfect scaling", USL, [0, 0], 1.0),
        ("perfect scaling", AMDAHL, [0], 1.0),
        ("perfect scaling", GUSTAFSON, [0], 1.0),
        ("constant throughput", USL, [1, 0], None),
        ("constant throughput", AMDAHL, [1], None),
        ("constant throughput", GUSTAFSON, [1], None),
        ("superlinear", USL, [0, 0], pytest.approx(1 - (np.log(1.5) / np.log(3)) ** 2)),
        ("every worker costs", AMDAHL, [1], pytest.approx(0, abs=1e-9)),
    ],
)
def test_at_the_ends_of_a_law_its_coefficients_are_exactly_their_bounds(name, law, coefficients, r2):
    found = fitted(law, WORKERS, DEGENERATE[name])
    assert found.coefficients.tolist() == coefficients
    assert found.is_at_bound
    assert found.r2 == r2


def test_a_hundred_million_workers_are_fitted_like_a_hundred():
    workers = np.array([1.0, 1e2, 1e4, 1e6, 1e8])
    found = fitted(USL, workers, 50 * np.exp(USL.log_curve(workers, np.array([1e-6, 1e-13]))))
    assert values(found) == pytest.approx([50, 1e-6, 1e-13], rel=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_no_other_start_finds_a_better_curve(seed):
    """The curve is not convex in its coefficients: the start decides where the iteration ends."""
    random = np.random.default_rng(seed)
    truth = [10 ** random.uniform(-3, -1), 10 ** random.uniform(-5, -2)]
    workers, throughput = made(USL, truth, [1, 2, 4, 8, 16], repeats=1, noise=0.1, seed=seed)
    found = fitted(USL, workers, throughput)

    def residuals(x):
        return x[0] + USL.log_curve(workers, x[1:]) - np.log(throughput)

    others = [
        2
        * least_squares(
            residuals, start, bounds=([-np.inf, 0, 0], [np.inf, 1, np.inf]), x_scale=[1, 1e-2, 1e-3]
        ).cost
        for start in random.uniform([-0.5, 0, 0], [0.5, 0.5, 0.1], (20, 3))
    ]
    assert found.squares <= min(others) * (1 + 1e-6)
