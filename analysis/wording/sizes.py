"""A size of a case: a number of workers on a number of nodes. `point` and `points` are rows of `scaling`."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.database.rows import Row
from analysis.wording.plain_text import counted

_PLACE = ("case_name", "nodes", "ranks_per_node", "threads")


def size_of(point: Row) -> str:
    """`4 ranks over 2 nodes`."""
    over = f" over {point['nodes']} nodes" if point["nodes"] > 1 else ""
    return f"{counted(point['workers'], point['axis'])}{over}"


def place_of(row: Row) -> tuple[object, ...]:
    """The key of a case and placement, the same in rows of every table about placements."""
    return tuple(row[key] for key in _PLACE)


def largest(points: Sequence[Row]) -> list[Row]:
    """The largest size of each case that is compared with a baseline, in the order of `points`; preferably one with
    slots for all ranks."""
    found: dict[str, Row] = {}
    for point in points:
        if point["throughput"] is None or point["speedup"] is None or point["is_baseline"]:
            continue
        known = found.get(point["case_name"])
        if known is None or _rank(point) > _rank(known):
            found[point["case_name"]] = point
    return list(found.values())


def _rank(point: Row) -> tuple[bool, int]:
    return not point["oversubscribed"], point["workers"]
