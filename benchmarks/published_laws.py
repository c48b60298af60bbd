"""The law table of published measurements: what was fitted before, and what is fitted now.

Before: least squares in the throughput of sizes, like R's package `usl`, and r² to compare laws. Now: analysis/laws.

python benchmarks/published_laws.py
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from analysis.laws.curves import AMDAHL, GUSTAFSON, USL
from analysis.laws.fit import Fit, fit
from analysis.laws.law import Array, Law
from analysis.laws.predict import interval, left_out_error, predicted
from analysis.laws.preferred_law import preferred
from analysis.wording.numbers import signed_percent
from tests.unit.analysis.published import PUBLISHED

_DLPERF = Path(__file__).parents[1] / "tests/unit/analysis/dlperf_resnet50_amp.csv"


def measurements() -> Iterator[tuple[str, Law, Array, Array]]:
    """Name, serial law, workers and throughput of every run."""
    with _DLPERF.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    workers = np.array([float(row["world_size"]) for row in rows])
    throughput = np.array([float(row["examples"]) / float(row["seconds"]) for row in rows])
    yield "DLPerf ResNet-50", GUSTAFSON, workers, throughput
    for name, published in PUBLISHED.items():
        yield name, AMDAHL, np.array(published.workers, float), np.array(published.throughput, float)


def fit_before(law: Law, workers: Array, throughput: Array) -> tuple[Array, float]:
    """Gamma and the coefficients by least squares in the throughput of sizes, and r²."""
    from scipy.optimize import least_squares

    sizes = np.unique(workers)
    means = np.exp([np.log(throughput[workers == size]).mean() for size in sizes])
    now = fit(law, workers, np.log(throughput))
    scales = np.array([np.exp(now.log_gamma), 1e-2, 1e-4][: law.parameters])
    found = least_squares(
        lambda x: x[0] * scales[0] * np.exp(law.log_curve(sizes, x[1:] * scales[1:])) - means,
        np.array([scales[0], *np.maximum(now.coefficients, 1e-6)]) / scales,
        bounds=(np.zeros(law.parameters), np.array([np.inf, 1e2, np.inf])[: law.parameters]),
        xtol=1e-15,
        ftol=1e-15,
        gtol=1e-15,
    )
    return found.x * scales, 1 - 2 * found.cost / float(np.sum((means - means.mean()) ** 2))


def rows_of(name: str, serial: Law, workers: Array, throughput: Array) -> Iterator[Sequence[str]]:
    fits = [
        fit(law, workers / (workers.min() if law.is_relative else 1), np.log(throughput))
        for law in (serial, USL)
    ]
    better = preferred(*fits)
    before = [fit_before(one.law, one_workers(one, workers), throughput) for one in fits]
    closer = max(range(2), key=lambda place: before[place][1])
    for place, one in enumerate(fits):
        values, r2 = before[place]
        yield (
            name,
            one.law.name,
            ", ".join(f"{value:.4g}" for value in values[1:]),
            f"{r2:.4f}{' closer' if place == closer else ''}",
            ", ".join(_coefficients(one)),
            "–" if one.lack_of_fit_p is None else f"{one.lack_of_fit_p:.1e}",
            "preferred" if one is better else "",
            _at_four_times(one),
            _left_out(one, one_workers(one, workers), throughput),
        )


def one_workers(one: Fit, workers: Array) -> Array:
    return workers / (workers.min() if one.law.is_relative else 1)


def _coefficients(one: Fit) -> Iterator[str]:
    for place, value in enumerate(one.coefficients):
        ends = (
            ""
            if one.is_rejected
            else " [{:.2g}, {:.2g}]".format(
                *one.region.interval(lambda every, place=place: every[..., place])  # type: ignore[misc]
            )
        )
        yield f"{value:.4g}{ends}"


def _at_four_times(one: Fit) -> str:
    if one.is_rejected:
        return "none"
    size = 4 * one.means.workers[-1]
    low, high = np.exp(interval(one, size))
    return f"{np.exp(predicted(one, size)):,.4g} [{low:,.4g}, {high:,.4g}]"


def _left_out(one: Fit, workers: Array, throughput: Array) -> str:
    measured = float(one.means.logs[-1])
    error = left_out_error(one.law, workers, np.log(throughput), [None] * len(workers), measured)
    return "–" if error is None else signed_percent(error)


def main() -> None:
    head = [
        "data",
        "law",
        "before",
        "its r²",
        "now [95 %]",
        "lack of fit p",
        "",
        "at 4× [95 %]",
        "largest left out",
    ]
    print(f"| {' | '.join(head)} |\n{'| --- ' * len(head)}|")
    for measurement in measurements():
        for row in rows_of(*measurement):
            print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
