"""The rows of `history_changes`, from those of `history_points`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np

from analysis.database import schema
from analysis.database.rows import Row, insert_rows
from analysis.levels.judge import Changes, Judged, judge


class Point(NamedTuple):
    """A case and placement in a session that is judged."""

    family: str
    """Suite, quick or not, origin and device: what its cases share may shift all of them."""
    series: str
    """Facts that make sessions comparable."""
    session_order: int
    session_id: str
    suite: str
    device_name: str
    case_name: str
    nodes: int
    ranks_per_node: int
    threads: int
    median_log: float
    median_log_variance: float | None


_POINTS = Path(__file__).with_name("points.sql")


def find_changes(connection: duckdb.DuckDBPyConnection) -> None:
    """Replace the rows of `history_changes`: a session that came or went may change what later ones show."""
    connection.execute(f"DELETE FROM {schema.CHANGES_TABLE}")  # noqa: S608
    points = [Point(*row) for row in connection.execute(_POINTS.read_text(encoding="utf-8")).fetchall()]
    families = groupby(points, key=lambda point: point.family)
    rows = [row for _, of_family in families for row in _changes(list(of_family))]
    insert_rows(connection, schema.CHANGES_TABLE, rows)


def _changes(points: Sequence[Point]) -> Iterator[Row]:
    """The rows of one family, in the order of its sessions."""
    sessions = {point.session_order: point.session_id for point in points}
    orders = list(sessions)
    sessions_by_order = {order: place for place, order in enumerate(orders)}
    series = {name: place for place, name in enumerate(dict.fromkeys(point.series for point in points))}
    values, variances = np.full((2, len(orders), len(series)), np.nan)
    at: dict[tuple[int, int], Point] = {}
    for point in points:
        place = sessions_by_order[point.session_order], series[point.series]
        values[place] = point.median_log
        variances[place] = np.nan if point.median_log_variance is None else point.median_log_variance
        at[place] = point
    found = judge(values, variances)
    for session, one in zip(*np.nonzero(found.own.direction), strict=True):
        point = at[session, one]
        placed = {name: getattr(point, name) for name in ("case_name", "nodes", "ranks_per_node", "threads")}
        yield {**_row(found.own, (session, one), orders, sessions, point), **placed, **_ALONE}
    for (session,) in zip(*np.nonzero(found.shared.direction[:, 0]), strict=True):
        here = [
            point for (place, one), point in at.items() if place == session and found.compared[session, one]
        ]
        yield {
            **_row(found.shared, (session, 0), orders, sessions, here[0]),
            **_TOGETHER,
            **_sharing(found, session, here),
        }


_ALONE: Row = dict.fromkeys(("placements", "compared_placements", "cases"))
_TOGETHER: Row = dict.fromkeys(("case_name", "nodes", "ranks_per_node", "threads"))


def _sharing(found: Judged, session: int, here: Sequence[Point]) -> Row:
    return {
        "placements": int(found.sharing[session].sum()),
        "compared_placements": int(found.compared[session].sum()),
        "cases": len({point.case_name for point in here}),
    }


def _row(
    changes: Changes, place: tuple[int, int], orders: Sequence[int], sessions: dict[int, str], point: Point
) -> dict[str, Any]:
    log_ratio, half_width = float(changes.log_ratio[place]), float(changes.half_width[place])
    first, level_first, level_last = (
        orders[int(order[place])] for order in (changes.first, changes.level_first, changes.level_last)
    )
    return {
        "suite": point.suite,
        "session_id": point.session_id,
        "session_order": point.session_order,
        "direction": "faster" if changes.direction[place] > 0 else "slower",
        "ratio": float(np.exp(log_ratio)),
        "ratio_lo": float(np.exp(log_ratio - half_width)),
        "ratio_hi": float(np.exp(log_ratio + half_width)),
        "first_order": first,
        "first_session_id": sessions[first],
        "level_first_order": level_first,
        "level_last_order": level_last,
        "level_session_id": sessions[level_last],
        "returns": bool(changes.returns[place]),
        "assumed": bool(changes.assumed[place]),
        "device_name": point.device_name,
    }
