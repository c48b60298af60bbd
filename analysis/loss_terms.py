"""The terms of efficiency_loss in words: what each is called, and what it means for a person who meets it first."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from analysis import schema


@dataclass(frozen=True, kw_only=True)
class Term:
    """One cause of lost efficiency."""

    meaning: str
    """A sentence: what happened in that time."""
    definition: str
    """How it is computed, for those who want to know."""


TERMS = {
    "data": Term(
        meaning="The next batch was not there yet, and all ranks waited for the one that had to wait for it.",
        definition="By how much waiting for data puts off the rank that the others wait for.",
    ),
    "imbalance": Term(
        meaning="Ranks that had finished computing stood still until the last one had, too.",
        definition="Computation of the rank with most of it in each step minus that of the rank with least.",
    ),
    "communication": Term(
        meaning="Ranks exchanged gradients or parameters and had nothing to compute meanwhile.",
        definition="Communication beside which nothing is computed, of the rank that waits least for others; what "
        "overlaps computation costs no time.",
    ),
    "clocks": Term(
        meaning="GPUs ran at a lower clock rate than at the baseline, as heat or a limit on power makes them.",
        definition="Computation × (1 − clock rate ÷ the baseline's), of the GPU with the highest rate.",
    ),
    "work": Term(
        meaning="Each rank has fewer examples in a step than at the baseline: pieces so small leave a device partly "
        "idle, and what a step costs once is shared by fewer examples.",
        definition="Under strong scaling: computation of the rank that computes least, without what lower clocks cost.",
    ),
    "remainder": Term(
        meaning="What is left once everything known has been taken out.",
        definition="1 − efficiency − the sum of the other terms; of a term that is not known, too, and under weak "
        "scaling of computation that costs more than at the baseline.",
    ),
}
"""In the order in which they are taken out, so that nothing is counted twice."""

KNOWN_BY = {
    "profiled": "profiled: shares of profiled steps",
    "estimated": "estimated: backward holds what one rank's does, the rest of it is communication",
    "one rank": "one rank: nobody to wait for or to talk to",
}
"""How the parts of a step are known; what is not here is not known."""
_NAME = re.compile(r"WHEN '(\w+)' THEN '([^']+)'")


@cache
def _names() -> dict[str, str]:
    return dict(_NAME.findall(schema.text("loss_name")))


def name_of(term: str) -> str:
    """In a table, a legend, a sentence: as the macro loss_name says it."""
    return _names()[term]


@cache
def profile_knob() -> str:
    """The argument that profiles some steps, as the macro of that name says it."""
    (knob,) = re.findall(r"'(--set [^']+)'", schema.text("profile_knob"))
    return str(knob)


def unknown() -> str:
    """Of a step whose communication nothing tells apart."""
    return f"communication is not known apart from computation: {profile_knob()} measures it"


def how_known(known_by: str | None) -> str:
    return f"not known: {profile_knob()} measures it" if known_by is None else KNOWN_BY[known_by]
