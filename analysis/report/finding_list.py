"""What the rules of diagnosis found, the gravest first: evidence, advice, and the command that tries it; and which of
them found nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from analysis import try_it
from analysis.fetched import Row
from analysis.report import units
from analysis.report.markup import details, prose, text, unordered
from analysis.report.summary_table import label

MOST_CASES = 6
"""Of one finding that are named; the CSV has all."""
_NOTHING = "Nothing: no rule found anything to change."
_SEVERITIES = {
    "critical": ("bad", "Critical", "mend these first"),
    "warning": ("fair", "Warnings", "these cost time or certainty"),
    "notice": ("none", "Notices", "good to know"),
}
"""Tone, heading and what that means."""


def findings(session: Row, found: list[Row], rules: list[Row], cases: Collection[str] = ()) -> str:
    """`session` of queries/session.sql, `found` of queries/findings.sql, `rules` of queries/rules.sql, `cases` the
    names of the session's."""
    found = [row | {"command": try_it.command(session, row["knob"], cases)} for row in found]
    groups: dict[str, list[Row]] = {}
    for row in sorted(found, key=lambda row: row["finding_order"]):
        groups.setdefault(row["finding"], []).append(row)
    parts = []
    commands: dict[str, str] = {}
    for severity in _SEVERITIES:
        of_it = [group for group in groups.values() if group[0]["severity"] == severity]
        cards = "".join(_card(group, commands) for group in of_it)
        folds = severity == "notice" and len(groups) > len(of_it)
        parts.append(_group(severity, of_it, cards, folds=folds))
    return ("".join(parts) or f"<p>{_NOTHING}</p>") + _looked(groups.keys(), rules)


def _group(severity: str, groups: Sequence[Sequence[Row]], cards: str, *, folds: bool) -> str:
    """Notices are folded where there is something graver."""
    if not groups:
        return ""
    _, heading, meaning = _SEVERITIES[severity]
    if folds:
        titles = ", ".join(group[0]["title"] for group in groups)
        return details(f"{heading}, {meaning}: {titles}", cards, "notices")
    return f'<h3>{heading} <span class="interval">{meaning}</span></h3>{cards}'


def _looked(found: Collection[str], rules: list[Row]) -> str:
    failed = [rule for rule in rules if rule["problem"] is not None]
    return _quiet(found, [rule for rule in rules if rule["problem"] is None]) + _failed(failed)


def _failed(rules: Sequence[Row]) -> str:
    """Those of one's own that were left out at load, as it names them."""
    if not rules:
        return ""
    said = unordered(f"rule {text(rule['finding'])}: {text(rule['problem'])}" for rule in rules)
    which = "rule of your own was" if len(rules) == 1 else "rules of your own were"
    return details(f"{len(rules):,} {which} left out", said)


def _quiet(found: Collection[str], rules: Sequence[Row]) -> str:
    quiet = [rule for rule in rules if rule["finding"] not in found]
    if not quiet:
        return ""
    said = unordered(
        f"{text(rule['title'])}{' (a rule of your own)' if rule['is_own'] else ''}. "
        f'<span class="interval">{prose(rule["meaning"])}</span>'
        for rule in quiet
    )
    return details(f"{len(rules):,} rules looked; {len(quiet):,} of them found nothing", said)


def _card(group: Sequence[Row], commands: dict[str, str]) -> str:
    """One finding, wherever it was found; `group` has the worst first. `commands` are those of the cards before it,
    with where they stand, and gets its own."""
    worst = group[0]
    evidence = unordered(map(_evidence, group[:MOST_CASES]))
    more = len(group) - MOST_CASES
    others = f"<p>And {more:,} more case{'s' * (more > 1)}; the CSV has all.</p>" if more > 0 else ""
    return (
        f'<article class="card finding"><h4>{label(_SEVERITIES[worst["severity"]][0], worst["title"])}</h4>'
        f"{evidence}{others}{''.join(_advice(group[:MOST_CASES], commands))}"
        f"{details('Why it matters', '<p>' + prose(worst['meaning']) + '</p>')}</article>"
    )


def _evidence(row: Row) -> str:
    place = " ".join(filter(None, [row["case_name"], row["placement"]]))
    said = [prose(row["evidence"])]
    if row["cost"] is not None:
        said.append(f"costs {units.percent(row['cost'])} of the ranks' time")
    if row["times"] > 1:
        is_ranked = any(row.get(name) is not None for name in ("cost", "magnitude"))
        said.append(f"found at {row['times']:,} placements{', shown is the worst' * is_ranked}")
    if row["certainty"] == "likely":
        said.append("likely: points alone, no interval supports it")
    return (f"<strong>{text(place)}</strong>: " if place else "") + "; ".join(said) + "."


def _advice(group: Sequence[Row], commands: dict[str, str]) -> Iterator[str]:
    """Each with the command that tries it, which stands on the page once, and where there are several, with the cases
    that it is for."""
    cases: dict[tuple[str, str | None], list[str]] = {}
    for row in group:
        key = (row["advice"], row["command"])
        cases.setdefault(key, []).append(row["case_name"] or "the session")
    for place, ((advice, line), named) in enumerate(cases.items()):
        whose = f" for {', '.join(map(text, named))}" if len(cases) > 1 else ""
        yield f"<p><strong>Advice{whose}:</strong> {prose(advice)}</p>"
        if line in commands:
            yield f"<p>{commands[line]} tries this, too.</p>"
        elif line:
            name = f"try-{group[0]['finding']}-{place}"
            commands[line] = f'<a href="#{name}">The command under \u201c{text(group[0]["title"])}\u201d</a>'
            yield _command(name, line)


def _command(name: str, line: str) -> str:
    return (
        f'<pre tabindex="0"><code id="{name}">{text(line)}</code></pre>'
        f'<p class="tools screen-only"><button type="button" data-copy="{name}">Copy the command</button> '
        '<span role="status"></span></p>'
    )
