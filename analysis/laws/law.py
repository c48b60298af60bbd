"""The law of a case: its forms averaged by Akaike weights, with intervals for all that follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from analysis.laws.forms import Form
from analysis.laws.size_means import Array, SizeMeans
from bench.records.t_interval import t_quantile

Estimate = tuple[float, float, float]
"""A value and the ends of its 95 % interval."""

LEAST_SIZES = 3
LAW_ERROR = 0.03
"""Standard deviation of ln(throughput) of a size around the best law: no machine follows one more closely."""
_NOISE = 0.03
"""The noise of a run if no size has two."""
_DRAWS = 200
_NORMAL = 1.959964
"""97.5 % quantile of the normal distribution."""


class Law:
    """Throughput of a case over its workers.

    A step has the same examples at every size under strong scaling; under weak scaling they grow with the workers."""

    def __init__(
        self, forms: Sequence[Form], means: SizeMeans, *, is_weak: bool, law_error: float = LAW_ERROR
    ) -> None:
        self._means, self._is_weak, self._law_error = means, is_weak, law_error
        self._sizes = means.workers / means.workers[0]
        self._times = np.exp(self._log_work(self._sizes) - means.logs + means.logs[0])
        noise = means.variances if means.degrees else np.full(len(self._sizes), _NOISE**2)
        self._variances = noise + law_error**2
        self.forms = [form for form in forms if len(form.terms) <= len(self._sizes)]
        """Those that have no more coefficients than there are sizes."""
        self._coefficients = [
            form.fit(self._sizes, self._times[None], self._variances)[0] for form in self.forms
        ]
        fitted = [
            form.times(one, self._sizes) for form, one in zip(self.forms, self._coefficients, strict=True)
        ]
        misfits = np.array([np.sum(np.log(times / self._times) ** 2 / self._variances) for times in fitted])
        free = len(self._sizes) - np.array([np.count_nonzero(one) for one in self._coefficients])
        # Birge's ratio: sizes that no form comes near vary by more than was assumed.
        excess = max(1.0, float(np.min(misfits / np.maximum(free, 1))))
        likelihoods = np.exp(
            -(misfits - misfits.min()) / excess / 2 - [len(form.terms) for form in self.forms]
        )
        self.weights = (likelihoods / likelihoods.sum()).tolist()
        spread = t_quantile(means.degrees) / _NORMAL if means.degrees else 1.0
        self._errors = np.sqrt((noise * spread**2 + law_error**2) * excess)

    def best(self) -> tuple[Form, float, dict[str, Estimate]]:
        """The form with the largest weight, this weight, and the form's quantities, if it is true."""
        place = int(np.argmax(self.weights))
        found = {
            name: (
                float(quantity(self._coefficients[place])),
                *np.quantile(quantity(self._drawn[place]), (0.025, 0.975), method="inverted_cdf").tolist(),
            )
            for name, quantity in self.forms[place].quantities.items()
        }
        return self.forms[place], self.weights[place], found

    def log_throughput(self, workers: float) -> float:
        return float(np.dot(self.weights, self._logs(self._coefficients, workers)))

    def log_estimate(self, workers: float) -> Estimate:
        """ln(throughput), with the errors of each form, their disagreement, and beyond the largest size the error of
        leaving that out for each doubling. Nothing exceeds linear growth from the largest size."""
        point, largest = self.log_throughput(workers), self._means.workers[-1]
        logs = self._logs(self._drawn, workers)
        low, high = _quantiles(np.concatenate(logs), np.repeat(self.weights, _DRAWS) / _DRAWS, (0.025, 0.975))
        low, high = min(low, point), max(high, point)
        if workers > largest:
            doublings_out = max(1.0, np.log2(largest / self._means.workers[-2]))
            error = self.left_out_error / doublings_out * np.log2(workers / largest)
            low, high = point - np.hypot(point - low, error), point + np.hypot(high - point, error)
            linear = self._means.logs[-1] + np.log(workers / largest) + _NORMAL * self._errors[-1]
            high = max(min(high, linear), point)
        return point, float(low), float(high)

    @cached_property
    def left_out_error(self) -> float:
        """ln(predicted ÷ measured throughput) of the largest size, by the law of the others."""
        others = Law(
            self.forms, self._means.without_largest(), is_weak=self._is_weak, law_error=self._law_error
        )
        return others.log_throughput(self._means.workers[-1]) - float(self._means.logs[-1])

    @cached_property
    def _drawn(self) -> list[Array]:
        """Coefficients of each form for times that are drawn within their errors: (draws, terms). The draws are the
        same at each call, so that a case loaded again has the same figures. Each draw has its opposite."""
        half = np.random.default_rng(0).standard_normal((_DRAWS // 2, len(self._sizes)))
        times = self._times * np.exp(np.concatenate([half, -half]) * self._errors)
        return [form.fit(self._sizes, times, self._variances) for form in self.forms]

    def _logs(self, coefficients: Sequence[Array], workers: float) -> list[Array]:
        """ln(throughput) by each form with its coefficients (..., terms): (...)."""
        size = np.array([workers / self._means.workers[0]])
        scale = self._means.logs[0] + self._log_work(size)[0]
        return [
            scale - np.log(form.times(one, size)[..., 0])
            for form, one in zip(self.forms, coefficients, strict=True)
        ]

    def _log_work(self, sizes: Array) -> Array:
        """ln of the examples of a step, in units of those at the smallest size."""
        return np.log(sizes) if self._is_weak else np.zeros_like(sizes)


def _quantiles(values: Array, weights: Array, shares: Sequence[float]) -> list[float]:
    order = np.argsort(values)
    places = np.searchsorted(np.cumsum(weights[order]), shares)
    return [float(values[order][min(place, len(values) - 1)]) for place in places]
