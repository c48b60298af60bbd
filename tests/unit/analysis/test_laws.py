"""Forms and their average compared with SciPy and with known truths, and cases in which little can be known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import least_squares

from analysis.laws.forms import FORMS
from analysis.laws.law import LAW_ERROR, Law
from analysis.laws.size_means import size_means
from benchmarks.coverage_laws import TRUTHS, chosen_on, coverage, judged, published

EVERY_FORM = [(mode, form) for mode, forms in FORMS.items() for form in forms]
FORM_IDS = [f"{mode} {form.name}" for mode, form in EVERY_FORM]


def law_of(mode, times, sizes=(1, 2, 4, 8), *, repeats=1, noise=0.0, seed=0, rounds=False):
    """The law of runs whose step takes `times` at `sizes`."""
    work = np.array(sizes, float) if mode == "weak" else np.ones(len(sizes))
    logs = np.tile(np.log(work / np.array(times, float)), repeats)
    logs += np.random.default_rng(seed).normal(0, noise, len(logs)) if noise else 0
    of_run = np.repeat(range(repeats), len(sizes)).tolist() if rounds else [None] * len(logs)
    means = size_means(np.tile(np.array(sizes, float), repeats), logs, of_run)
    return Law(FORMS[mode], means, is_weak=mode == "weak")


@pytest.mark.parametrize(("mode", "form"), EVERY_FORM, ids=FORM_IDS)
def test_a_fit_is_non_negative_least_squares_in_the_logarithm(mode, form):
    """SciPy's bounded search starts from the fit and from elsewhere, and finds nothing closer."""
    random = np.random.default_rng(3)
    sizes, variances = np.array([1.0, 2, 4, 8, 16]), np.array([1, 4, 1, 9, 2]) * 1e-4
    for _ in range(20):
        truth = random.uniform(0, 1, len(form.terms)) * random.integers(0, 2, len(form.terms)) + [
            1,
            *[0] * (len(form.terms) - 1),
        ]
        times = form.times(truth, sizes) * np.exp(random.normal(0, 0.05, len(sizes)))
        found = form.fit(sizes, times[None], variances)[0]
        assert (found >= 0).all()

        def residuals(x, times=times):
            return np.log(np.maximum(form.times(x, sizes), 1e-12) / times) / np.sqrt(variances)

        nearest = min(
            least_squares(residuals, start, bounds=(0, np.inf)).cost
            for start in (found + 1e-3, random.uniform(0.1, 1, len(found)))
        )
        assert np.sum(residuals(found) ** 2) / 2 <= nearest * 1.02 + 1e-3


@pytest.mark.parametrize(("mode", "form"), EVERY_FORM, ids=FORM_IDS)
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("smallest", [1, 8])
def test_exact_sizes_have_their_coefficients_and_a_law_near_them_whatever_the_unit(
    mode, form, scale, smallest
):
    truth = np.array([0.96, 0.04, 0.01] if mode == "strong" else [1.0, 0.1])[: len(form.terms)]
    u = np.array([1.0, 2, 4, 8, 16, 32])
    times = scale * form.times(truth, u)
    assert form.fit(u, times[None], np.full(6, 1e-4))[0] == pytest.approx(scale * truth, rel=1e-6)
    law = law_of(mode, times, smallest * u)
    for size in u:
        expected = np.log(
            (smallest * size if mode == "weak" else 1) / (scale * form.times(truth, np.array([size]))[0])
        )
        assert law.log_throughput(smallest * size) == pytest.approx(expected, abs=0.05)


def test_every_weight_follows_from_the_distance_and_the_number_of_coefficients():
    """Exact Amdahl: all three forms pass through the sizes, and two have one coefficient more."""
    law = law_of("strong", [0.05 + 0.95 / n for n in (1, 2, 4, 8)])
    rest = np.exp(-1)
    assert law.weights == pytest.approx(np.array([1, rest, rest]) / (1 + 2 * rest), rel=1e-6)


def test_a_form_with_more_coefficients_than_sizes_has_no_part_in_the_average():
    assert [form.name for form in law_of("strong", [1, 0.6], (1, 2)).forms] == ["saturating"]
    assert len(law_of("strong", [1, 0.6, 0.4], (1, 2, 4)).forms) == 3


def test_the_same_runs_have_the_same_figures_to_the_last_digit():
    one, other = (law_of("strong", [1, 0.55, 0.31, 0.2], repeats=3, noise=0.02) for _ in range(2))
    assert [one.log_estimate(n) for n in (8, 16, 64)] == [other.log_estimate(n) for n in (8, 16, 64)]
    assert one.best()[2] == other.best()[2]


def test_what_a_round_has_in_common_changes_no_interval():
    sizes, times = (1, 2, 4, 8), [1, 0.55, 0.31, 0.2]
    random = np.random.default_rng(0)
    logs = np.tile(-np.log(times), 3) + random.normal(0, 0.02, 12)
    rounds = np.repeat([4, 7, 9], 4)
    laws = [
        Law(FORMS["strong"], size_means(np.tile(np.array(sizes, float), 3), shifted, of_run), is_weak=False)
        for shifted, of_run in (
            (logs, rounds.tolist()),
            (logs + np.array([-0.3, 0.1, 0.2])[np.searchsorted([4, 7, 9], rounds)], rounds.tolist()),
            (logs + np.array([-0.3, 0.1, 0.2])[np.searchsorted([4, 7, 9], rounds)], [None] * 12),
        )
    ]
    alike, unknown = laws[1].log_estimate(16), laws[2].log_estimate(16)
    assert alike == pytest.approx(laws[0].log_estimate(16), abs=1e-9)
    assert unknown[2] - unknown[1] > 1.5 * (alike[2] - alike[1])


def test_a_round_that_lacks_a_size_shifts_none_of_the_others():
    workers = np.array([1.0, 2, 4, 1, 2, 4, 1, 2])
    rounds = [0, 0, 0, 1, 1, 1, 2, 2]
    logs = np.log(workers) + np.array([0.0, 0.1, 0.5])[rounds]
    found = size_means(workers, logs, rounds)
    assert np.diff(found.logs) == pytest.approx(np.log([2, 2]))
    assert found.variances == pytest.approx([0, 0, 0], abs=1e-20)
    assert found.degrees == 8 - 3 - 2


@pytest.mark.parametrize("rounds", [[None] * 8, [*range(7), None], [1, 1, 2, 2, 3, 3, 4, 4]])
def test_rounds_that_are_unknown_or_each_of_one_size_have_no_effects(rounds):
    workers = np.repeat([1.0, 2, 4, 8], 2)
    assert size_means(workers, np.log(workers), rounds).degrees == 4


def test_each_size_has_its_own_variance():
    random = np.random.default_rng(1)
    workers = np.repeat([1.0, 2, 4, 8], 5)
    quiet, loud = random.normal(0, 0.01, 15), random.normal(0, 0.1, 5)
    found = size_means(workers, np.concatenate([quiet, loud]), [None] * 20)
    assert found.variances[3] > 1.9 * found.variances[:3].max()
    own = np.var(loud, ddof=1)
    pooled = (3 * np.var(quiet.reshape(3, 5), axis=1, ddof=1).mean() + own) / 4
    assert found.variances[3] == pytest.approx((4 * pooled + 4 * own) / 8 / 5)


def test_from_six_runs_on_one_slow_run_does_not_move_a_size():
    workers = np.repeat([1.0, 2, 4], 6)
    logs = np.log(workers) + np.tile([-0.02, -0.01, 0.0, 0.0, 0.01, 0.02], 3)
    slow = logs.copy()
    slow[17] -= np.log(5)
    assert size_means(workers, slow, [None] * 18).logs == pytest.approx(
        size_means(workers, logs, [None] * 18).logs, abs=0.006
    )


def test_a_size_that_varies_more_widens_the_interval_beyond_it():
    times = [1, 0.525, 0.2875, 0.16875]
    random = np.random.default_rng(2)
    noise = random.normal(0, 1, (3, 4))
    widths = []
    for at_eight in (0.01, 0.08):
        logs = (-np.log(times) + noise * [0.01, 0.01, 0.01, at_eight]).ravel()
        means = size_means(np.tile([1.0, 2, 4, 8], 3), logs, [None] * 12)
        _, low, high = Law(FORMS["strong"], means, is_weak=False).log_estimate(16)
        widths.append(high - low)
    assert widths[1] > 1.3 * widths[0]


def test_an_interval_is_no_narrower_than_what_a_law_can_be_off():
    """Exact sizes: no noise, and no form is rejected."""
    law = law_of("strong", [0.05 + 0.95 / n for n in (1, 2, 4, 8)], repeats=3)
    for workers in (8, 16, 32, 64):
        _, low, high = law.log_estimate(workers)
        assert high - low > 2 * LAW_ERROR


def test_sizes_that_no_form_comes_near_have_wider_intervals():
    smooth = law_of("weak", [1, 1.05, 1.1, 1.15])
    wild = law_of("weak", [1, 1.6, 1.1, 1.7])
    (_, low, high), (_, wild_low, wild_high) = smooth.log_estimate(16), wild.log_estimate(16)
    assert wild_high - wild_low > 3 * (high - low)


def test_the_interval_widens_by_the_error_of_leaving_out_the_largest_size():
    law = law_of("weak", [1, 1.02, 1.05, 1.5])
    others = law_of("weak", [1, 1.02, 1.05], (1, 2, 4))
    expected = others.log_throughput(8) - np.log(8 / 1.5)
    assert law.left_out_error == pytest.approx(expected)
    assert expected > 0.3
    point, low, _ = law.log_estimate(32)
    assert point - low > 2 * expected


def test_nothing_is_predicted_to_grow_faster_than_the_workers():
    law = law_of("strong", [1, 0.5, 0.25, 0.125], repeats=3, noise=0.001)
    for times in (2, 4, 16):
        point, _, high = law.log_estimate(8 * times)
        assert point <= np.log(8 * times) + 0.01
        assert high <= np.log(8 * times) + 0.15


DEGENERATE = {
    "perfect scaling": (100, 200, 400, 800),
    "constant throughput": (100, 100, 100, 100),
    "every worker costs": (100, 50, 25, 12.5),
    "collapse": (100, 5, 1, 0.1),
    "superlinear": (100, 300, 900, 2700),
    "down and up again": (100, 10, 10, 100),
    "up and down again": (1, 1e6, 1e6, 1),
}
"""Name -> throughput at 1, 2, 4 and 8 workers."""


@pytest.mark.parametrize("mode", FORMS)
@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("repeats", [1, 2])
def test_no_measurement_breaks_a_law_and_every_interval_contains_its_estimate(mode, name, repeats):
    workers = np.array([1.0, 2, 4, 8])
    work = workers if mode == "weak" else 1
    law = law_of(mode, work / np.array(DEGENERATE[name]), repeats=repeats)
    assert sum(law.weights) == pytest.approx(1)
    for size in (1, 8, 16, 128):
        point, low, high = law.log_estimate(size)
        assert np.isfinite([point, low, high]).all()
        assert low <= point <= high
    for value, low, high in law.best()[2].values():
        assert low <= high
        assert not np.isnan([value, low, high]).any()


@pytest.mark.parametrize("sizes", [(1, 10**2, 10**4, 10**6, 10**8), (1000, 1001, 1002, 1003), (3, 5, 7)])
@pytest.mark.parametrize("mode", FORMS)
def test_any_sizes_have_a_law(mode, sizes):
    law = law_of(mode, [1.0] * len(sizes), sizes)
    assert np.isfinite(law.log_estimate(2 * sizes[-1])).all()


LOG_GROWTH = [truth for truth in TRUTHS if "log2" in truth.name]


@pytest.mark.parametrize("truth", LOG_GROWTH, ids=lambda truth: f"{truth.name} to {max(truth.sizes)}")
def test_predictions_hold_where_communication_grows_with_the_logarithm(truth):
    found = coverage(truth, draws=30)
    assert min(found.holds.values()) >= 0.9


def test_predictions_say_nothing_of_what_no_size_shows():
    """Communication hidden until n = 10: docs and pages say that a prediction holds if nothing new begins."""
    (overlap,) = [truth for truth in TRUTHS if truth.name.startswith("overlap")]
    assert coverage(overlap, draws=10).holds[4] == 0


def test_published_curves_hold_without_their_largest_size_in_narrow_intervals():
    curves = published()
    held, half_width, _ = judged(curves)
    assert (len(curves), held >= 28) == (31, True)
    assert half_width <= 1.25


def test_what_one_half_of_the_published_curves_chooses_holds_on_the_other():
    curves = published()
    for is_one in (
        lambda curve: curve.source == "dlperf",
        lambda curve: curve.name.startswith("resnet50"),
    ):
        halves = (
            [curve for curve in curves if is_one(curve)],
            [curve for curve in curves if not is_one(curve)],
        )
        for chosen, checked in (halves, halves[::-1]):
            held, _, _ = judged(checked, *chosen_on(chosen))
            assert held >= 0.9 * len(checked)
