"""Where efficiency was lost: a line for each case, and the terms of efficiency_loss in words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from analysis.database import schema
from analysis.database.rows import Row
from analysis.wording import numbers, verdicts
from analysis.wording.plain_text import counted, listed
from analysis.wording.sizes import largest, place_of, size_of

LEAST = 0.01
"""Share of the ranks' time: smaller terms are not named, and cases that lose less have no line."""
_MOST = 6
"""Cases that a terminal shows."""


def explained(losses: Sequence[Row]) -> list[Row]:
    """The losses of sizes with a known cause; imported timings have none."""
    known = {place_of(loss) for loss in losses if loss["term"] != "remainder" and loss["share"] is not None}
    return [loss for loss in losses if place_of(loss) in known]


def lines(points: Sequence[Row], losses: Sequence[Row], by_group: Sequence[Row]) -> Iterator[str]:
    """A line for each case that loses most, at its largest size, in the order of `points`. A mesh has a second one with
    the exposed communication over each dimension. Cases without a known cause share the last line, if others have
    one. `points` are rows of scaling, `losses` of efficiency_loss, `by_group`
    of communication_by_group."""
    by_place: dict[tuple[object, ...], list[Row]] = {}
    for loss in explained(losses):
        by_place.setdefault(place_of(loss), []).append(loss)
    with_losses = [
        point for point in points if place_of(point) in by_place and point["efficiency"] is not None
    ]
    compared = [point for point in largest(with_losses) if point["verdict"] != verdicts.DIFFERENT_TRAINING]
    shown = sorted(compared, key=lambda point: point["efficiency"])[:_MOST]
    if compared:
        yield "Where the efficiency went"
    for point in compared:
        if point in shown:
            yield f"  {point['case_name']} on {size_of(point)}{_loss(point, by_place[place_of(point)])}"
            if dimensions := _by_dimension([row for row in by_group if place_of(row) == place_of(point)]):
                yield f"    exposed communication of a profiled step: {dimensions}"
    if len(compared) > len(shown):
        yield f"  and {counted(len(compared) - len(shown), 'more cases')}, more efficient by their points"
    lost = {place_of(loss) for loss in losses if loss["share"] is not None} - set(by_place)
    untold = [point["case_name"] for point in largest(points) if place_of(point) in lost]
    if compared and untold:
        yield f"  {listed(untold, _MOST)}: {unknown()}"


def is_loss_undecided(point: Row) -> bool:
    """Whether repeats vary too much to say how much was lost, or whether anything was."""
    low, high = point["efficiency_lo"], point["efficiency_hi"]
    return _has_no_bound(point) or (low is not None and 1 - low >= LEAST and high >= 1)


def undecided_loss(point: Row) -> str:
    """The bound that the repeats put on such a loss, if any."""
    if _has_no_bound(point):
        return "these repeats do not show how much was lost"
    return f"at most {numbers.percent(1 - point['efficiency_lo'])[0]} of the ranks' time was lost, perhaps nothing"


def _has_no_bound(point: Row) -> bool:
    return verdicts.is_open(point) or numbers.is_too_wide(point["efficiency_lo"], point["efficiency_hi"])


def _loss(point: Row, terms: Sequence[Row]) -> str:
    """The text after the case and its size."""
    lost = 1 - point["efficiency"]
    if is_loss_undecided(point):
        return f": {undecided_loss(point)}"
    if lost < LEAST:
        amount = "nothing" if lost <= 0 else f"less than {100 * LEAST:.0f} %"
        is_shown = point["efficiency_lo"] is not None and 1 - point["efficiency_lo"] < LEAST
        return f": {amount} was lost" if is_shown else f": {amount} was lost, by the point alone"
    return f" loses {numbers.percent(lost)[0]}: {_parts(terms)}"


def _by_dimension(groups: Sequence[Row]) -> str:
    """The share of each process group; empty unless there are several."""
    known = sorted(
        (row for row in groups if row["exposed_share"] is not None),
        key=lambda row: row["exposed_share"],
        reverse=True,
    )
    if len(known) < 2:
        return ""
    named = [row for row in known if row["exposed_share"] >= LEAST]
    ends = ("exposed_share", "exposed_share_lo", "exposed_share_hi")
    return ", ".join(
        f"{row['dimension']} {' '.join(filter(None, numbers.percent(*(row[end] for end in ends))))}"
        for row in named
    )


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
    """A term with its share; a negative share is a gain. `perhaps` if its interval contains zero."""
    return f"{'perhaps ' * _may_be_none(term)}{name_of(term['term'])} {numbers.percent(term['share'])[0]}"


# The terms of efficiency_loss in words.


@dataclass(frozen=True, kw_only=True)
class Term:
    """One cause of lost efficiency."""

    meaning: str
    """A sentence: what happened in that time."""
    definition: str
    """How the term is computed."""


TERMS = {
    "data": Term(
        meaning="The next batch was not ready on one rank, and all ranks waited for that rank.",
        definition="The time by which waiting for data delays the rank that the others wait for.",
    ),
    "imbalance": Term(
        meaning="Ranks that finished computing early were idle until the last one finished.",
        definition="Computation of the rank that computes most in each step, minus that of the one computing least.",
    ),
    "communication": Term(
        meaning="Ranks exchanged gradients or parameters and had nothing to compute meanwhile.",
        definition="Communication during which a rank computes nothing, for the rank that waits least for others. "
        "Communication that overlaps computation costs no time.",
    ),
    "clocks": Term(
        meaning="GPUs ran at a lower clock rate than at the baseline, usually because of heat or a power limit.",
        definition="Computation × (1 − clock rate ÷ the baseline's), for the GPU with the highest rate.",
    ),
    "work": Term(
        meaning="Computation takes longer per example than at the baseline: under strong scaling small batches leave a "
        "device partly idle and the fixed cost of a step is spread over fewer examples; and ranks of a node slow each "
        "other down, above all on CPUs.",
        definition="Computation of the rank that computes least, minus the cost of lower clocks.",
    ),
    "remainder": Term(
        meaning="The loss that is left after all known causes.",
        definition="1 − efficiency − the sum of the other terms. It includes unknown terms.",
    ),
}
"""In the order of subtraction, so that nothing is counted twice."""

KNOWN_BY = {
    "profiled": "profiled: shares of profiled steps",
    "estimated": "estimated: backward computes in proportion to forward, as on one rank; the rest is communication",
    "one rank": "one rank: no other rank to wait for or to talk to",
}
"""How the parts of a step are known; null if they are not."""
_NAME = re.compile(r"WHEN '(\w+)' THEN '([^']+)'")


@cache
def _names() -> dict[str, str]:
    return dict(_NAME.findall(schema.text("loss_name")))


def name_of(term: str) -> str:
    """The term's name in tables, legends and sentences, from the macro loss_name."""
    return _names()[term]


@cache
def profile_option() -> str:
    """The argument that profiles some steps, from the macro of the same name."""
    (options,) = re.findall(r"'(--set [^']+)'", schema.text("profile_option"))
    return str(options)


def unknown() -> str:
    """Note for a step whose communication is not measured."""
    return f"communication is not known apart from computation: {profile_option()} measures it"


def how_known(known_by: str | None) -> str:
    return f"not known: {profile_option()} measures it" if known_by is None else KNOWN_BY[known_by]
