"""Three cards at the top of a session's page: what to do, how certain that is, and the command that does it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from markupsafe import Markup

from analysis.database.rows import Row
from analysis.diagnosis import try_command
from analysis.diagnosis.advice import NONE_CERTAIN, any_certain, first_advice
from analysis.report.html.markup import cut
from analysis.report.html.render import render
from analysis.wording.plain_text import listed

_MOST_NAMED = 3
_LONGEST_NAME = 40
"""Characters of a case's name: a card has few lines."""


def advice_cards(session: Row, found: Sequence[Row], points: Sequence[Row], cases: Collection[str]) -> Markup:
    """The cards; a sentence if the runs show no advice. `found` are rows of queries/findings.sql, `points` of
    queries/summary.sql."""
    given = first_advice(found, points)
    cards = [
        {
            "identifier": f"advice-{place}",
            "title": one.title,
            "case": cut(next(iter(one.cases), ""), _LONGEST_NAME),
            "others": listed([cut(case, _LONGEST_NAME) for case in one.cases[1:]], _MOST_NAMED),
            "evidence": one.evidence,
            "shows_cases": not one.is_of_repeats,  # whose evidence names its cases
            "certainty": one.certainty,
            "tone": "sure" if one.is_certain else "unsure",
            "command": try_command.command(session, one.options, cases),
        }
        for place, one in enumerate(given)
    ]
    none_certain = "" if any_certain(given) or not cards else NONE_CERTAIN
    return render("sections/advice_cards", cards=cards, none_certain=none_certain)
