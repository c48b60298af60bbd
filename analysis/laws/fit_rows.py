"""Fit the scaling laws to the runs of `law_points`; the result is the rows of `law_fits`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import duckdb
import numpy as np

from analysis.database.rows import Row
from analysis.laws.curves import AMDAHL, GUSTAFSON, USL
from analysis.laws.fit import Fit, fit
from analysis.laws.law import Array, Law
from analysis.laws.predict import interval, left_out_error, predicted
from analysis.laws.preferred_law import beyond_amdahl_p, preferred

LAWS = {"strong": (AMDAHL, USL), "weak": (GUSTAFSON, USL)}
"""Mode of scaling -> the serial law and the universal law that apply to it."""
DOUBLINGS = (2, 4, 8, 16)
"""Predicted sizes, in units of the largest measured one."""
LEAST_SIZES_OF_A_SEGMENT = 4
ALL, ONE_NODE, ACROSS_NODES = "all", "one node", "across nodes"


class Point(NamedTuple):
    """A row of `law_points`: a run."""

    session_id: str
    case_name: str
    scaling_mode: str
    axis: str
    workers: int
    nodes: int
    round: int | None
    throughput: float


_POINTS = f"SELECT {', '.join(Point._fields)} FROM law_points ORDER BY ALL"  # noqa: S608 - our own names


def fit_laws(connection: duckdb.DuckDBPyConnection) -> list[Row]:
    """The rows of `law_fits` for all rows of `law_points`."""
    found = connection.execute(_POINTS).fetchall()
    cases = groupby((Point(*row) for row in found), key=lambda point: (point.session_id, point.case_name))
    return [
        row
        for _, points in cases
        for segment, part in segments(list(points)).items()
        for row in _fits(segment, part)
    ]


def segments(points: Sequence[Point]) -> dict[str, list[Point]]:
    """The runs that laws are fitted to together. Efficiency may change abruptly at the border of a node: the sizes on
    one node and those across nodes have laws of their own if they are enough. All sizes together have one unless
    those across nodes do."""
    parts = {
        ONE_NODE: [point for point in points if point.nodes == 1],
        ACROSS_NODES: [point for point in points if point.nodes > 1],
    }
    if not all(parts.values()):
        return {ALL: list(points)}
    own = {name: part for name, part in parts.items() if len(_sizes(part)) >= LEAST_SIZES_OF_A_SEGMENT}
    return own if ACROSS_NODES in own else {ALL: list(points), **own}


def _sizes(points: Sequence[Point]) -> list[int]:
    return sorted({point.workers for point in points})


def _fits(segment: str, points: Sequence[Point]) -> Iterator[Row]:
    """The rows of one segment of a case."""
    found = {law: _fit(law, points) for law in LAWS[points[0].scaling_mode]}
    serial, universal = found.values()
    better = beyond_p = None
    if isinstance(serial, Fit) and isinstance(universal, Fit):
        better = preferred(serial, universal)
        beyond_p = beyond_amdahl_p(serial, universal) if serial.law is AMDAHL else None
    for law, one in found.items():
        row = {**_facts(segment, law, points), **_NO_FIT}
        if isinstance(one, str):
            yield {**row, "reason": one}
        else:
            compared = {"is_preferred": one is better, "beyond_amdahl_p": beyond_p if law is USL else None}
            yield {**row, **_estimates(one), **compared, **_outlook(one, segment, points)}


def _fit(law: Law, points: Sequence[Point]) -> Fit | str:
    """The fit, or why there is none."""
    sizes = _sizes(points)
    if len(sizes) < law.least_points:
        return f"measured at {len(sizes)} of the {law.least_points} sizes that it needs"
    try:
        return fit(law, *_columns(law, points))
    except (ValueError, np.linalg.LinAlgError) as error:
        return f"no curve found: {error}"


def _columns(law: Law, points: Sequence[Point]) -> tuple[Array, Array, list[int | None]]:
    """Workers in units of the law, ln(throughput) and round of each run."""
    workers = np.array([point.workers for point in points], dtype=np.float64) / _unit(law, points)
    return workers, np.log([point.throughput for point in points]), [point.round for point in points]


def _unit(law: Law, points: Sequence[Point]) -> int:
    return min(point.workers for point in points) if law.is_relative else 1


def _facts(segment: str, law: Law, points: Sequence[Point]) -> Row:
    first, sizes = points[0], _sizes(points)
    return {
        "session_id": first.session_id,
        "case_name": first.case_name,
        "segment": segment,
        "scaling_mode": first.scaling_mode,
        "axis": first.axis,
        "law": law.name,
        "points": len(sizes),
        "runs": len(points),
        "parameters": law.parameters,
        "smallest_workers": sizes[0],
        "largest_workers": sizes[-1],
        "unit_workers": _unit(law, points),
    }


_COEFFICIENTS = ("alpha", "beta")
_QUANTITIES = (*_COEFFICIENTS, "peak_workers", "limit_throughput")
_OTHERS = (
    "gamma gamma_se alpha_se beta_se at_bound degrees noise lack_of_fit_p rejected beyond_amdahl_p is_preferred r2 "
    "left_out_error curve reason"
)
_NO_FIT: Row = dict.fromkeys(
    [*_OTHERS.split(), *(f"{name}{end}" for name in _QUANTITIES for end in ("", "_lo", "_hi"))]
)


def _estimates(one: Fit) -> Row:
    """The values of the fit, its tests, and intervals unless the law is rejected."""
    gamma = float(np.exp(one.log_gamma))
    row: Row = {
        "gamma": gamma,
        "at_bound": one.is_at_bound,
        "degrees": one.degrees,
        "noise": float(np.sqrt(one.variance)),
        "lack_of_fit_p": one.lack_of_fit_p,
        "rejected": one.is_rejected,
        "r2": one.r2,
    }
    for place, name in enumerate(_COEFFICIENTS[: one.law.count]):
        row |= _with_interval(one, name, itemgetter((..., place)))
    if one.law is USL:
        row |= _with_interval(one, "peak_workers", _peak)
    if one.law is AMDAHL:
        row["limit_throughput"] = _finite(gamma / one.coefficients[0] if one.coefficients[0] else np.inf)
        if not one.is_rejected:
            row["limit_throughput_lo"], row["limit_throughput_hi"] = (
                _finite(np.exp(end)) for end in one.region.log_interval(_log_limit)
            )
    if one.errors is not None:
        errors = one.errors * [gamma, *np.ones(one.law.count)]
        row |= dict(zip(("gamma_se", "alpha_se", "beta_se"), errors.tolist(), strict=False))
    return row


def _with_interval(one: Fit, name: str, quantity: Callable[[Array], Array]) -> Row:
    """An infinite end is None."""
    row = {name: _finite(quantity(one.coefficients))}
    if not one.is_rejected:
        row[f"{name}_lo"], row[f"{name}_hi"] = map(_finite, one.region.interval(quantity))
    return row


def _finite(value: float | np.floating[Any] | Array) -> float | None:
    return float(value) if np.isfinite(value) else None


def _peak(coefficients: Array) -> Array:
    """The size with the largest throughput by the USL; infinite without coherency. Below one worker means that the
    second one already reduces throughput."""
    with np.errstate(divide="ignore", invalid="ignore"):
        peak = np.sqrt((1 - coefficients[..., 0]) / coefficients[..., 1])
    return np.where(coefficients[..., 1] > 0, np.maximum(peak, 1), np.inf)


def _log_limit(coefficients: Array) -> Array:
    """ln(throughput ÷ gamma) of infinitely many workers by Amdahl's law."""
    with np.errstate(divide="ignore"):
        limit: Array = -np.log(coefficients[..., 0])
    return limit


def _outlook(one: Fit, segment: str, points: Sequence[Point]) -> Row:
    """The law's throughput at the measured sizes and beyond, and its error at the largest without that size. A
    rejected law predicts nothing, nor does one of a single node for sizes that more nodes must have."""
    sizes = _sizes(points)
    if not one.is_rejected and segment != ONE_NODE:
        sizes += [times * sizes[-1] for times in DOUBLINGS]
    row: Row = {"curve": [_of_size(one, workers, _unit(one.law, points)) for workers in sizes]}
    error = left_out_error(one.law, *_columns(one.law, points), measured=float(one.means.logs[-1]))
    return row | {"left_out_error": error}


def _of_size(one: Fit, workers: int, unit: int) -> Row:
    low, high = (None, None) if one.is_rejected else map(float, np.exp(interval(one, workers / unit)))
    throughput = float(np.exp(predicted(one, workers / unit)))
    return {"workers": workers, "throughput": throughput, "throughput_lo": low, "throughput_hi": high}
