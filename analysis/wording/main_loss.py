"""Where most of the lost efficiency of a session went, in a sentence.

The parameter `name` quotes untrusted text, such as a case's name, for the output's format.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from analysis.database.rows import Row
from analysis.wording import numbers, verdicts
from analysis.wording.lost_efficiency import is_loss_undecided, name_of, undecided_loss, unknown
from analysis.wording.sizes import largest, place_of, size_of

_ESTIMATED = ("imbalance", "communication", "work")
"""Terms that may be estimated, depending on how the parts of a step are known."""
LEAST = 0.005
"""Share of the ranks' time below which a loss is not mentioned."""


def most_telling(points: Sequence[Row], losses: Sequence[Row]) -> Row | None:
    """The row that the sentence is about; None if no row has an efficiency. Among the largest sizes of all cases, those
    with slots for all ranks win, then those whose repeats show how much was lost, then those whose communication is
    known, then the one that lost most."""
    compared = [
        point
        for point in largest(points)
        if point["efficiency"] is not None and point["verdict"] != verdicts.DIFFERENT_TRAINING
    ]
    known = {place_of(loss) for loss in losses if loss["known_by"] is not None}
    return min(
        compared,
        key=lambda point: (
            point["oversubscribed"],
            is_loss_undecided(point),
            place_of(point) not in known,
            point["efficiency"],
        ),
        default=None,
    )


def main_loss(points: Sequence[Row], losses: Sequence[Row]) -> str:
    """The main loss of the most telling row, with its interval; empty if nothing was lost or nothing is known.
    `losses` are rows of efficiency_loss of the same session."""
    point = most_telling(points, losses)
    return "" if point is None else _main_loss(point, losses)


def main_loss_of(points: Sequence[Row], losses: Sequence[Row], name: Callable[[str], str] = str) -> str:
    """The same with the name and the size of its case; empty, too, if the repeats do not show how much was lost."""
    point = most_telling(points, losses)
    if point is None or is_loss_undecided(point):
        return ""
    said = _main_loss(point, losses)
    return said and f"{name(point['case_name'])} on {size_of(point)}: {said}"


def _main_loss(point: Row, losses: Sequence[Row]) -> str:
    terms = [loss for loss in losses if loss["share"] is not None and place_of(loss) == place_of(point)]
    if not terms:
        return ""
    if is_loss_undecided(point):
        amount = undecided_loss(point)
        return f"{amount[0].upper()}{amount[1:]}."
    lost = 1 - terms[0]["efficiency"]
    main, *others = sorted(terms, key=lambda term: term["share"], reverse=True)
    if lost < LEAST or main["share"] < LEAST:
        return ""
    share, interval = numbers.percent(*(main[name] for name in ("share", "share_lo", "share_hi")))
    cause = f"{name_of(main['term'])}: {share}{interval and f' {interval}'}"
    is_remainder = main["term"] == "remainder"
    if is_remainder and main["known_by"] is None:
        cause += f" ({unknown()})"
    elif main["known_by"] == "estimated" and main["term"] in _ESTIMATED:
        cause += " (estimated)"
    said = f"{numbers.percent(lost)[0]} of the ranks' time was lost"
    mainly = "the largest part" if is_remainder else "mainly to"
    gain = -sum(term["share"] for term in terms if term["share"] < 0)
    gained = ""
    if main["share"] > lost and gain >= LEAST:  # otherwise a part would be larger than the whole
        gained = f"; other parts gained {numbers.percent(gain)[0]}"
    if main["share_lo"] is None:
        return f"{said}, by points alone {mainly} {cause}{gained}."
    if main["share_lo"] <= 0 or any(_rivals(other, main) for other in others):
        likely = "perhaps " if main["share_lo"] <= 0 else "probably "
        return f"{said}; main cause unclear, {'' if is_remainder else likely}{cause}{gained}."
    return f"{said}, {mainly} {cause}{gained}."


def _rivals(other: Row, largest: Row) -> bool:
    """Whether, by its interval, the other term may be larger than the largest."""
    is_there: bool = other["share"] >= LEAST and other["share_hi"] is not None
    return is_there and other["share_hi"] >= largest["share_lo"]
