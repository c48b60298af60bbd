"""The law table of published measurements: what was fitted before, and what is fitted now.

Before: least squares in the throughput of sizes, like R's package `usl`, and r² to compare laws. Now: analysis/laws.

python benchmarks/published_laws.py
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from operator import itemgetter
from pathlib import Path

import numpy as np

from analysis.laws.curves import AMDAHL, GUSTAFSON, USL
from analysis.laws.fit import Fit, fit
from analysis.laws.law import Array, Law
from analysis.laws.predict import interval, left_out_error, predicted
from analysis.laws.preferred_law import preferred
from analysis.report.html.units import number
from analysis.wording.numbers import estimate, signed_percent
from tests.unit.analysis.published import PUBLISHED

_ZERO = 1e-12
"""The iteration of SciPy leaves this at a bound."""
_DLPERF = Path(__file__).parents[1] / "tests/unit/analysis/dlperf_resnet50_amp.csv"


def measurements() -> Iterator[tuple[str, Law, Array, Array]]:
    """Name, serial law, workers and throughput of every run; the smallest size is 1."""
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
    fits = [fit(law, workers / workers.min(), np.log(throughput)) for law in (serial, USL)]
    better = preferred(*fits)
    before = [fit_before(one.law, workers, throughput) for one in fits]
    closer = max(round(r2, 4) for _, r2 in before)
    for place, one in enumerate(fits):
        values, r2 = before[place]
        yield (
            name,
            one.law.name,
            ", ".join(number(value if value > _ZERO else 0, 3) for value in values[1:]),
            f"{r2:.4f}{', closer' if round(r2, 4) == closer else ''}",
            ", ".join(_coefficients(one)),
            "no test" if one.lack_of_fit_p is None else f"{one.lack_of_fit_p:.1g}",
            "yes" if one is better else "",
            _at_four_times(one),
            _left_out(one, workers, throughput),
        )


def _coefficients(one: Fit) -> Iterator[str]:
    for place, value in enumerate(one.coefficients.tolist()):
        if one.is_rejected:
            yield number(value, 3)
        else:
            low, high = one.region.interval(itemgetter((..., place)))
            yield f"{number(value, 3)} [{number(low, 2)}, {number(high, 2)}]"


def _at_four_times(one: Fit) -> str:
    if one.is_rejected:
        return "none"
    size = 4 * one.means.workers[-1]
    low, high = np.exp(interval(one, size))
    return " ".join(estimate(float(np.exp(predicted(one, size))), float(low), float(high)))


def _left_out(one: Fit, workers: Array, throughput: Array) -> str:
    measured = float(one.means.logs[-1])
    rounds = [None] * len(workers)
    error = left_out_error(one.law, workers, np.log(throughput), rounds, measured)
    return "–" if error is None else signed_percent(error)


_HEAD = "| data | law | before | r² before | now [95 %] | lack of fit p | preferred | at 4× [95 %] | largest left out |"


def main() -> None:
    print(_HEAD)
    print("| --- " * (_HEAD.count("|") - 1) + "|")
    for measurement in measurements():
        for row in rows_of(*measurement):
            print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
