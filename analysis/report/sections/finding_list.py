"""The findings of the diagnosis rules, the worst first: evidence, advice, and the command that tries the advice."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from markupsafe import Markup

from analysis.database.rows import Row
from analysis.diagnosis import try_command
from analysis.report.html.markup import prose, text
from analysis.report.html.render import render
from analysis.wording import numbers

MOST_CASES = 3
"""Cases that a finding names; the CSV has all."""
MOST_OPEN = 3
"""Findings that are open; the others are folded."""
_SEVERITIES = {
    "critical": ("bad", "Critical", "fix these first"),
    "warning": ("fair", "Warnings", "these cost time or certainty"),
    "notice": ("none", "Notices", "good to know"),
}
"""Tone, heading and meaning."""


def findings(session: Row, found: list[Row], rules: list[Row], cases: Collection[str] = ()) -> Markup:
    """The section. `session`, `found` and `rules` are from queries/session.sql, findings.sql and rules.sql; `cases` are
    the names of the session's cases."""
    by_finding: dict[str, list[Row]] = {}  # each list begins with the worst case
    for row in sorted(found, key=lambda row: row["finding_order"]):
        command = try_command.command(session, row["options"], cases)
        by_finding.setdefault(row["finding"], []).append(row | {"command": command})
    groups: list[dict[str, Any]] = []
    commands: dict[str, dict[str, str]] = {}
    for severity, (tone, heading, meaning) in _SEVERITIES.items():
        of_it = [rows for rows in by_finding.values() if rows[0]["severity"] == severity]
        left = MOST_OPEN - sum(len(group["findings"]) for group in groups)
        if of_it:
            cards = [_card(rows, commands) for rows in of_it]
            is_notice = severity == "notice" and len(by_finding) > len(of_it)
            groups.append(
                {
                    "tone": tone,
                    "heading": heading,
                    "meaning": meaning,
                    "findings": [] if is_notice else cards[: max(left, 0)],
                    "folded": cards if is_notice else cards[max(left, 0) :],
                }
            )
    usable = [rule for rule in rules if rule["problem"] is None]
    return render(
        "sections/findings",
        groups=groups,
        rules=len(usable),
        quiet=[rule for rule in usable if rule["finding"] not in by_finding],
        failed=[rule for rule in rules if rule["problem"] is not None],
    )


def _card(rows: Sequence[Row], commands: dict[str, dict[str, str]]) -> dict[str, Any]:
    """One finding in all its cases, the worst first. `commands` has those of earlier cards; the card adds its own."""
    named = rows[:MOST_CASES]
    return {
        "title": rows[0]["title"],
        "meaning": rows[0]["meaning"],
        "evidence": [_evidence(row) for row in named],
        "more": len(rows) - len(named),
        "advice": list(_advice(named, commands)),
    }


def _evidence(row: Row) -> Markup:
    place = " ".join(filter(None, [row["case_name"], row["placement"]]))
    said: list[Markup | str] = [prose(row["evidence"])]
    if row["cost"] is not None:
        said.append(f"costs {numbers.percent(row['cost'])[0]} of the ranks' time")
    if row["times"] > 1:
        is_ranked = any(row.get(name) is not None for name in ("cost", "magnitude"))
        said.append(f"found at {row['times']:,} placements{', the worst is shown' * is_ranked}")
    if row["certainty"] == "likely":
        said.append("likely, not certain")
    prefix = Markup("<strong>{}</strong>: ").format(text(place)) if place else Markup()
    return prefix + Markup("; ").join(said) + "."


def _advice(rows: Sequence[Row], commands: dict[str, dict[str, str]]) -> Iterator[dict[str, Any]]:
    """Each different advice with its commands, or with the card that already shows a command. If there are several,
    each names its cases; its text comes once."""
    cases: dict[tuple[str, str | None], list[str]] = {}
    for row in rows:
        cases.setdefault((row["advice"], row["command"]), []).append(row["case_name"] or "the session")
    said: set[str] = set()
    for place, ((advice, command), named) in enumerate(cases.items()):
        card = {"identifier": f"try-{rows[0]['finding']}-{place}", "title": rows[0]["title"]}
        yield {
            "text": "" if advice in said else advice,
            "cases": named if len(cases) > 1 else [],
            "command": command,
            "identifier": card["identifier"],
            "same_as": commands.get(command or ""),
        }
        said.add(advice)
        if command:
            commands.setdefault(command, card)
