"""Fit a law to the runs of `law_points` of each case; the result is the rows of `law_fits`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import duckdb
import numpy as np

from analysis.database.rows import Row
from analysis.laws.forms import FORMS
from analysis.laws.law import LEAST_SIZES, Law
from analysis.laws.size_means import size_means
from analysis.laws.wording import SURE

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
    return [_row(segment, part) for _, points in cases for segment, part in segments(list(points)).items()]


def segments(points: Sequence[Point]) -> dict[str, list[Point]]:
    """The runs that a law is fitted to together. Efficiency may change abruptly at the border of a node: the sizes on
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


def _row(segment: str, points: Sequence[Point]) -> Row:
    """The row of one segment of a case."""
    first, sizes = points[0], _sizes(points)
    row: Row = {
        "session_id": first.session_id,
        "case_name": first.case_name,
        "segment": segment,
        "scaling_mode": first.scaling_mode,
        "axis": first.axis,
        "points": len(sizes),
        "runs": len(points),
        "smallest_workers": sizes[0],
        "largest_workers": sizes[-1],
        **_NO_LAW,
    }
    if len(sizes) < LEAST_SIZES:
        return row | {"reason": f"{len(sizes)} of the {LEAST_SIZES} sizes that a law needs"}
    means = size_means(
        np.array([point.workers for point in points], dtype=np.float64),
        np.log([point.throughput for point in points]),
        [point.round for point in points],
    )
    law = Law(FORMS[first.scaling_mode], means, is_weak=first.scaling_mode == "weak")
    # The law of one node says nothing about sizes that more nodes must have.
    ahead = [] if segment == ONE_NODE else [times * sizes[-1] for times in DOUBLINGS]
    return row | {
        **{f"{form.name}_weight": weight for form, weight in zip(law.forms, law.weights, strict=True)},
        **_of_best(law, sizes[0]),
        "left_out_error": float(np.expm1(law.left_out_error)),
        "curve": [_of_size(law, workers) for workers in [*sizes, *ahead]],
    }


_OF_LAW = (
    "saturating_weight log_weight pairs_weight best_form serial_fraction serial_fraction_lo serial_fraction_hi growth "
    "growth_lo growth_hi peak_workers peak_workers_lo peak_workers_hi left_out_error curve reason"
)
_NO_LAW: Row = dict.fromkeys(_OF_LAW.split())


def _of_best(law: Law, smallest: int) -> Row:
    """The best form with its coefficients, and its peak if its weight is large enough. An infinite end is None."""
    form, weight, quantities = law.best()
    row: Row = {"best_form": form.name}
    for name, estimate in quantities.items():
        if name != "peak_workers" or weight >= SURE:
            unit = smallest if name == "peak_workers" else 1
            values = [unit * value if np.isfinite(value) else None for value in estimate]
            row |= zip((name, f"{name}_lo", f"{name}_hi"), values, strict=True)
    return row


def _of_size(law: Law, workers: int) -> Row:
    values = np.exp(law.log_estimate(workers)).tolist()
    names = ("throughput", "throughput_lo", "throughput_hi")
    return {"workers": workers, **dict(zip(names, values, strict=True))}
