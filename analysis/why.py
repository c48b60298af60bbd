"""The sentences after the closing one: where most of the lost efficiency went, and what to try first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from analysis.loss_terms import name_of, unknown
from analysis.lost import CANNOT_BE_TOLD, cannot_be_told
from analysis.rounding import estimate
from analysis.sentence import Point, most_telling

Loss = dict[str, Any]
"""A row of the table `efficiency_loss`."""
Finding = dict[str, Any]
"""A row of the view `diagnosis`."""

_ESTIMATED = ("imbalance", "communication", "work")
"""Terms that hang on how the parts of a step are known."""
LEAST = 0.005
"""Of the ranks' time: what is less is not worth a sentence."""
REPEATED = ("one_repeat", "undecided", "noisy", "too_few_repeats")
"""Findings that say how sure the figures are: where nothing is decided they come before all that would change the
training."""


def because(
    points: Sequence[Point],
    losses: Sequence[Loss],
    findings: Sequence[Finding],
    name: Callable[[str], str] = str,
) -> str:
    """Where most of what the closing sentence's row lost went, with its interval, and the first remedy; nothing where
    nothing was lost or nothing is known. All are rows of one session. `name` makes of a text that is not ours what is
    shown."""
    point = most_telling(points)
    if point is None:
        return ""
    terms = [loss for loss in losses if _is_of(point, loss) and loss["share"] is not None]
    return " ".join(filter(None, [_where(point, terms), _remedy(point, findings, name)]))


def first_remedy(point: Point, findings: Sequence[Finding]) -> Finding | None:
    """The gravest finding of that case, or of the session, that explains lost time; not one that names all of it and
    has no setting to change: that is what is to be explained. Where repeats do not tell how much was lost, what makes
    them surer."""
    of_it = [finding for finding in findings if finding["case_name"] in (None, point["case_name"])]
    repeated = [
        finding
        for finding in of_it
        if finding["finding"] == "one_repeat" or (finding["finding"] in REPEATED and cannot_be_told(point))
    ]
    explaining = [finding for finding in of_it if finding["cost"] and _explains(finding, point)]
    fitting = repeated if repeated or cannot_be_told(point) else explaining
    return min(fitting, key=lambda finding: finding["finding_order"], default=None)


def _explains(finding: Finding, point: Point) -> bool:
    efficiency = point["efficiency"]
    is_a_part = efficiency is None or finding["cost"] < 1 - efficiency - LEAST
    return is_a_part or finding["knob"] is not None


def _is_of(point: Point, loss: Loss) -> bool:
    return all(loss[key] == point[key] for key in ("case_name", "nodes", "ranks_per_node", "threads"))


def _where(point: Point, terms: Sequence[Loss]) -> str:
    if not terms:
        return ""
    if cannot_be_told(point):
        return f"{CANNOT_BE_TOLD.capitalize()}."
    lost = 1 - terms[0]["efficiency"]
    largest, *others = sorted(terms, key=lambda term: term["share"], reverse=True)
    if lost < LEAST or largest["share"] < LEAST:
        return ""
    took = f"{name_of(largest['term'])}: {_share(largest)}"
    said = f"Of the ranks' time {_percent(lost)} was lost, the largest part {{}}{took}"
    to = "to "
    if largest["term"] == "remainder":
        to = ""
        said += "" if largest["known_by"] is not None else f" ({unknown()})"
    elif largest["known_by"] == "estimated" and largest["term"] in _ESTIMATED:
        said += " (estimated)"
    if largest["share_lo"] is None:
        return f"{said.format(to and f'by points alone {to}')}."
    if largest["share_lo"] <= 0 or any(_rivals(other, largest) for other in others):
        return f"{said.format(f'perhaps {to}')}; which part is largest is not decided."
    return f"{said.format(to)}."


def _rivals(other: Loss, largest: Loss) -> bool:
    """Whether it may be the larger one, as far as their intervals say."""
    is_there: bool = other["share"] >= LEAST and other["share_hi"] is not None
    return is_there and other["share_hi"] >= largest["share_lo"]


def _share(loss: Loss) -> str:
    ends = (None if loss[end] is None else 100 * loss[end] for end in ("share_lo", "share_hi"))
    shown, interval = estimate(100 * loss["share"], *ends)
    return f"{shown} %{interval and f' {interval}'}"


def _percent(share: float) -> str:
    return f"{estimate(100 * share, None, None)[0]} %"


def _remedy(point: Point, findings: Sequence[Finding], name: Callable[[str], str]) -> str:
    finding = first_remedy(point, findings)
    if finding is None:
        return ""
    sure = "" if finding["certainty"] == "shown" else ", likely"
    tried = f"; try {name(finding['knob'])}" if finding["knob"] else ""
    return f"First to mend: {name(finding['title'])}{sure}{tried}."
