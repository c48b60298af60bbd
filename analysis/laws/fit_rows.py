"""Fit the scaling laws to the points of `law_points`; the result is the rows of `law_fits`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import duckdb
import numpy as np

from analysis.database.rows import Row
from analysis.laws.curves import AMDAHL, GUSTAFSON, USL
from analysis.laws.fit import Fit, fit
from analysis.laws.law import Law

LAWS = {"strong": (AMDAHL, USL), "weak": (GUSTAFSON, USL)}
"""Mode of scaling -> laws that apply to it."""


_POINTS = "SELECT session_id, case_name, scaling, axis, workers, mean_throughput FROM law_points ORDER BY ALL"


class Point(NamedTuple):
    """A row of `law_points`."""

    session_id: str
    case_name: str
    scaling: str
    axis: str
    workers: int
    throughput: float


def fit_laws(connection: duckdb.DuckDBPyConnection) -> list[Row]:
    """The rows of `law_fits` for all rows of `law_points`."""
    found = connection.execute(_POINTS).fetchall()
    cases = groupby((Point(*row) for row in found), key=lambda point: (point.session_id, point.case_name))
    return [row for _, points in cases for row in _fits(list(points))]


def _fits(points: Sequence[Point]) -> Iterator[Row]:
    """The rows of one case, whose points are in order of workers."""
    for law in LAWS[points[0].scaling]:
        found = _fit(law, points)
        estimates = {"reason": found} if isinstance(found, str) else _estimates(found)
        yield {**_facts(law, points), **_NO_FIT, **estimates}


def _fit(law: Law, points: Sequence[Point]) -> Fit | str:
    """The fit, or why there is none."""
    if len(points) < law.least_points:
        return f"measured at {len(points)} of the {law.least_points} sizes that it needs"
    workers = np.array([point.workers for point in points], dtype=np.float64) / _unit(law, points)
    try:
        return fit(law, workers, np.array([point.throughput for point in points]))
    except (ValueError, np.linalg.LinAlgError) as error:
        return f"no curve found: {error}"


def _unit(law: Law, points: Sequence[Point]) -> int:
    return points[0].workers if law.is_relative else 1


def _facts(law: Law, points: Sequence[Point]) -> Row:
    first = points[0]
    return {
        "session_id": first.session_id,
        "case_name": first.case_name,
        "scaling": first.scaling,
        "axis": first.axis,
        "law": law.name,
        "points": len(points),
        "parameters": law.parameters,
        "smallest_workers": first.workers,
        "largest_workers": points[-1].workers,
        "unit_workers": _unit(law, points),
    }


_NAMES = ("gamma", "alpha", "beta")
_LOGARITHMIC = ("log_gamma", "alpha", "beta")
_PAIRS = {
    f"{_LOGARITHMIC[one]}_{_LOGARITHMIC[other]}_covariance": (one, other)
    for one, other in ((0, 1), (0, 2), (1, 2))
} | {f"{name}_variance": (place, place) for place, name in enumerate(_LOGARITHMIC)}
_NO_FIT: Row = dict.fromkeys(
    [*_NAMES, *(f"{name}_se" for name in _NAMES), *_PAIRS, "at_bound", "r2", "reason"]
)


def _estimates(found: Fit) -> Row:
    values = dict(zip(_NAMES, found.values.tolist(), strict=False))
    return {**values, **_uncertainty(found), "at_bound": found.is_at_bound, "r2": found.r2}


def _uncertainty(found: Fit) -> Row:
    """Empty if the points do not determine the values."""
    if found.errors is None or found.covariance is None:
        return {}
    errors = {f"{name}_se": error for name, error in zip(_NAMES, found.errors.tolist(), strict=False)}
    there = len(found.values)
    return errors | {
        name: float(found.covariance[one, other])
        for name, (one, other) in _PAIRS.items()
        if max(one, other) < there
    }
