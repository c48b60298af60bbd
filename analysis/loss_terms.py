"""The terms of efficiency_loss in words: what each is called, and what it means for a person who meets it first."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Term:
    """One cause of lost efficiency."""

    name: str
    """In a table, a legend, a sentence."""
    meaning: str
    """A sentence: what happened in that time."""
    definition: str
    """How it is computed, for those who want to know."""


TERMS = {
    "data": Term(
        name="waiting for data",
        meaning="Ranks stood still because their next batch was not there yet.",
        definition="Time of the phase data in a step, beyond what the baseline spent on as many examples.",
    ),
    "imbalance": Term(
        name="waiting for slower ranks",
        meaning="Ranks that had finished their part stood still until the slowest one had, too.",
        definition="The fastest rank's computation against each rank's, beyond the same at the baseline.",
    ),
    "communication": Term(
        name="exposed communication",
        meaning="Ranks exchanged gradients or parameters and had nothing to compute beside it.",
        definition="Communication beside which a rank computed nothing; what overlaps with computation costs no time.",
    ),
    "clocks": Term(
        name="lower clocks",
        meaning="Devices computed at a lower clock rate than at the baseline, as by heat or a limit on power.",
        definition="Computation ÷ the ratio of mean clock rates of the devices, in measured steps.",
    ),
    "work": Term(
        name="less work per rank",
        meaning="Each rank has fewer examples in a step than at the baseline, and computes fewer of them in a second: "
        "small pieces leave a device partly idle.",
        definition="Computation of an example here against the baseline, lower clocks taken out; under strong scaling "
        "the batch of a rank shrinks as ranks are added.",
    ),
    "remainder": Term(
        name="not explained",
        meaning="What is left when everything that is known has been taken out.",
        definition="1 − efficiency − the sum of the other terms; a term that is not known is part of it.",
    ),
}
"""In the order in which they are taken out, so that nothing is counted twice."""

KNOWN_BY = {
    "profiled": "communication was measured in profiled steps",
    "estimated": "communication is estimated from what one rank does without it",
    "one rank": "one rank has nobody to talk to",
}
"""How the parts of a step are known; what is not here is not known."""
UNKNOWN = "communication is not known apart from computation: --set measure.profiled=4 measures it"


def name_of(term: str) -> str:
    return TERMS[term].name if term in TERMS else term


def how_known(known_by: str | None) -> str:
    return UNKNOWN if known_by is None else KNOWN_BY.get(known_by, known_by)
