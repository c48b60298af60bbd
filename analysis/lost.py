"""Where the efficiency of each case went, a line for each on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from analysis.fetched import Row
from analysis.loss_terms import name_of
from analysis.sentence import Point, size_of

LEAST = 0.01
"""Of the ranks' time: terms below it are not named, and cases that lose less have no line."""
_MOST = 6
"""Cases that a terminal shows."""
_PLACE = ("case_name", "nodes", "ranks_per_node", "threads")


def explained(losses: Sequence[Row]) -> list[Row]:
    """Those of sizes of which more is known than that something was lost: not of timings from elsewhere."""
    known = {_place(loss) for loss in losses if loss["term"] != "remainder" and loss["share"] is not None}
    return [loss for loss in losses if _place(loss) in known]


def lines(points: Sequence[Point], losses: Sequence[Row], name: Callable[[str], str] = str) -> Iterator[str]:
    """Of the cases that lose most, at their largest size, in the order of `points`: rows of scaling, `losses` are of
    efficiency_loss. `name` makes of a case's name what is shown."""
    by_place: dict[tuple[object, ...], list[Row]] = {}
    for loss in explained(losses):
        by_place.setdefault(_place(loss), []).append(loss)
    largest: dict[str, Point] = {}
    for point in points:
        known = largest.get(point["case_name"])
        if _place(point) in by_place and (known is None or _size(point) > _size(known)):
            largest[point["case_name"]] = point
    losing = [point for point in largest.values() if 1 - point["efficiency"] >= LEAST]
    shown = sorted(losing, key=lambda point: point["efficiency"])[:_MOST]
    if losing:
        yield "Where the efficiency went"
    for point in losing:
        if point in shown:
            yield "  " + _line(point, by_place[_place(point)], name)
    if len(losing) > len(shown):
        others = len(losing) - len(shown)
        yield f"  {others:,} other case{'s' * (others > 1)} lose{'s' * (others == 1)} less"


def _place(row: Row) -> tuple[object, ...]:
    return tuple(row[key] for key in _PLACE)


def _size(point: Point) -> tuple[bool, int]:
    return not point["oversubscribed"], point["workers"]


def _line(point: Point, terms: Sequence[Row], name: Callable[[str], str]) -> str:
    shares = {term["term"]: term for term in terms if term["share"] is not None}
    rest = shares.pop("remainder", None)
    named = sorted(
        (term for term in shares.values() if abs(term["share"]) >= LEAST),
        key=lambda term: term["share"],
        reverse=True,
    )
    is_sure = point["efficiency_hi"] is None or point["efficiency_hi"] < 1
    said = [_part(term, "perhaps " * (is_sure and _may_be_none(term))) for term in named]
    if rest is not None and abs(rest["share"]) >= LEAST:
        said.append(_part(rest))
    loses = f"{'' if is_sure else 'perhaps '}loses {_percent(1 - point['efficiency'])}"
    estimated = " (estimated)" if any(term["known_by"] == "estimated" for term in terms) else ""
    return f"{name(point['case_name'])} on {size_of(point)} {loses}: {', '.join(said)}{estimated}"


def _may_be_none(term: Row) -> bool:
    low, high = term["share_lo"], term["share_hi"]
    return low is not None and high is not None and low <= 0 <= high


def _part(term: Row, perhaps: str = "") -> str:
    """Below zero it is a gain."""
    return f"{perhaps}{name_of(term['term'])} {_percent(term['share'])}"


def _percent(share: float) -> str:
    """Whole ones: the interval of what is lost stands in the table above, those of its parts in the view."""
    return f"{100 * share:.0f} %".replace("-", "−")
