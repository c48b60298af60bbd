"""Where the efficiency of each case went, a line for each on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from analysis import verdicts
from analysis.fetched import Row
from analysis.loss_terms import name_of
from analysis.sentence import Point, size_of

LEAST = 0.01
"""Of the ranks' time: terms below it are not named, and cases that lose less have no line."""
_MOST = 6
"""Cases that a terminal shows."""
CANNOT_BE_TOLD = "how much was lost cannot be told from these repeats"
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
    compared = largest_sizes([point for point in points if _place(point) in by_place])
    shown = sorted(compared, key=lambda point: point["efficiency"])[:_MOST]
    if compared:
        yield "Where the efficiency went"
    for point in compared:
        if point in shown:
            yield f"  {name(point['case_name'])} on {size_of(point)}{_said(point, by_place[_place(point)])}"
    if len(compared) > len(shown):
        others = len(compared) - len(shown)
        yield f"  {others:,} other case{'s' * (others > 1)} lose{'s' * (others == 1)} less"


def largest_sizes(points: Sequence[Point]) -> list[Point]:
    """Of each case that is compared its largest size, one with slots for all ranks first."""
    largest: dict[str, Point] = {}
    for point in points:
        known = largest.get(point["case_name"])
        is_compared = point["efficiency"] is not None and not point["is_baseline"]
        if is_compared and (known is None or _size(point) > _size(known)):
            largest[point["case_name"]] = point
    return list(largest.values())


def cannot_be_told(point: Point) -> bool:
    """Whether repeats differ so much that nobody knows how much was lost, or that anything was."""
    low, high = point["efficiency_lo"], point["efficiency_hi"]
    return verdicts.is_open(point) or (low is not None and 1 - low >= LEAST and high >= 1)


def _place(row: Row) -> tuple[object, ...]:
    return tuple(row[key] for key in _PLACE)


def _size(point: Point) -> tuple[bool, int]:
    return not point["oversubscribed"], point["workers"]


def _said(point: Point, terms: Sequence[Row]) -> str:
    """What follows the case and its size."""
    lost = 1 - point["efficiency"]
    if cannot_be_told(point):
        return f": {CANNOT_BE_TOLD}"
    if lost < LEAST:
        return f": {'nothing' if lost <= 0 else f'less than {_percent(LEAST)}'} was lost"
    return f" loses {_percent(lost)}: {_parts(terms)}"


def _parts(terms: Sequence[Row]) -> str:
    shares = {term["term"]: term for term in terms if term["share"] is not None}
    rest = shares.pop("remainder", None)
    named = sorted(
        (term for term in shares.values() if abs(term["share"]) >= LEAST),
        key=lambda term: term["share"],
        reverse=True,
    )
    if rest is not None and abs(rest["share"]) >= LEAST:
        named.append(rest)
    estimated = " (estimated)" if any(term["known_by"] == "estimated" for term in terms) else ""
    return ", ".join(map(_part, named)) + estimated


def _may_be_none(term: Row) -> bool:
    low, high = term["share_lo"], term["share_hi"]
    return low is not None and high is not None and low <= 0 <= high


def _part(term: Row) -> str:
    """Below zero it is a gain; what may as well be nothing is only perhaps one."""
    return f"{'perhaps ' * _may_be_none(term)}{name_of(term['term'])} {_percent(term['share'])}"


def _percent(share: float) -> str:
    """Whole ones: the interval of what is lost stands in the table above, those of its parts in the view."""
    return f"{100 * share:.0f} %".replace("-", "−")
