"""How the sessions differ: facts that should be equal, settings, environment, cases and sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from markupsafe import Markup

from analysis.compare.comparison import USER_FILE
from analysis.compare.wording import NAMES_OF_TRAINING_CODE, TRAINING_CODE, short_digests
from analysis.database.rows import Row
from analysis.report.html import units
from analysis.report.html.markup import cut, differing, folded, short, text, text_cell, unordered
from analysis.report.html.render import render
from analysis.report.pages.comparison.data import ComparedSession, ComparedSessions
from analysis.tables.column import Column
from analysis.wording.plain_text import listed
from bench.records.vocabulary import NOT_IN_SETTINGS

MOST_FILES = 8
"""Files that a line names; it counts the others."""
MOST_CASES = 6
"""Cases that a line names; it counts the others."""

_SETTINGS = "settings of "
"""Prefix of the keys of queries/likeness.sql whose values are digests, one for each case and placement."""
Values = tuple[str | None, ...]
"""A value for each session; None if the session does not have one."""


def unlike(sessions: Sequence[ComparedSession]) -> list[Markup]:
    """Facts that should be equal but differ, with every session's value."""
    suites = tuple(one.session["suite"] + (" (quick)" if one.session["quick"] else "") for one in sessions)
    workloads = tuple(one.session["workloads"] for one in sessions)
    rates = tuple(one.session["throughput_units"] for one in sessions)
    lines = [
        _unlike("suite", sessions, suites),
        _unlike("workload", sessions, workloads),
        _unlike("unit of throughput", sessions, rates),
    ]
    lines.append(_unlike_code(sessions))
    has_other_settings = False
    keys = dict.fromkeys(key for one in sessions for key in one.likeness)
    for key in keys:
        values = tuple(one.likeness.get(key) for one in sessions)
        if None in values or key.startswith(USER_FILE):  # an unknown value may be equal
            continue
        if key == TRAINING_CODE:
            lines.append(_unlike_training_code(sessions, values))
        elif not key.startswith(_SETTINGS):
            lines.append(_unlike(key, sessions, values))
        elif len(set(values)) > 1:
            has_other_settings = True
    lines += list(_unlike_settings(sessions, has_others=has_other_settings))
    lines += [
        _unlike(f"{part} of {case}", sessions, values) for case, part, values in _split_cases(sessions)
    ][:MOST_CASES]
    return [line for line in lines if line]


def _unlike_code(sessions: Sequence[ComparedSession]) -> Markup:
    """The files of the user's code that differ, with every session's commit if these differ, too."""
    names = dict.fromkeys(key for one in sessions for key in one.likeness if key.startswith(USER_FILE))
    values = {name: {one.likeness.get(name) for one in sessions} for name in names}
    files = [
        cut(name.removeprefix(USER_FILE))
        for name, found in values.items()
        if len(found) > 1 and None not in found
    ]
    if not files:
        return Markup()
    commits = [one.environment.get("user_commit") for one in sessions]
    said = tuple(commit and short_digests(commit) for commit in commits)
    at = Markup(" ({})").format(_unlike("commit", sessions, said)) if len(set(said)) > 1 else ""
    return text("code of " + listed(files, MOST_FILES)) + at


def _unlike_training_code(sessions: Sequence[ComparedSession], digests: Values) -> Markup:
    """scalebench's version and commit if they differ; the digests of its files only if neither does."""
    if len(set(digests)) == 1:
        return Markup()
    named = (tuple(one.environment.get(key) for one in sessions) for key in NAMES_OF_TRAINING_CODE)
    lines = [
        _unlike(key, sessions, values)
        for key, values in zip(NAMES_OF_TRAINING_CODE, named, strict=True)
        if len(set(values)) > 1
    ]
    return (
        text("training code: ") + Markup(", ").join(lines)
        if lines
        else _unlike("training code, digest", sessions, digests)
    )


_TELLING = ("global_batch", "batch_per_rank", "train.precision", "parameters", "threads")
"""Settings whose differences are listed first. Scaling and strategy are not: they make different cases."""
_WITHOUT_EFFECT = tuple(f"measure.{key}" for key in NOT_IN_SETTINGS)
MOST_SETTINGS = 8
"""Other settings whose differences are listed; the section of settings has all."""


def _unlike_settings(sessions: Sequence[ComparedSession], *, has_others: bool) -> Iterator[Markup]:
    """For each setting, the values of most cases and the number of cases with others. An unknown value may be equal.
    `has_others`: the fingerprints show that settings differ that a ratio depends on, so all of them are named."""
    found = [line for line in _setting_lines(sessions) if _differs(line) and None not in line["values"]]
    names = dict.fromkeys(line["name"] for line in found) if has_others else {}
    others = [name for name in names if name not in (*_TELLING, *_WITHOUT_EFFECT)]
    for name in (*_TELLING, *others[:MOST_SETTINGS]):
        lines = sorted((line for line in found if line["name"] == name), key=lambda line: -line["count"])
        if lines:
            rest = sum(line["count"] for line in lines[1:])
            more = f"; other values in {rest:,} more {'case' if rest == 1 else 'cases'}" if rest else ""
            cases = "all cases in common" if lines[0]["cases"] == _ALL else lines[0]["cases"]
            said = name.rpartition(".")[2].replace("_", " ") if name in _TELLING else name
            what = f"{said} of {cases}"
            yield _unlike(what, sessions, lines[0]["values"]) + more
    if len(others) > MOST_SETTINGS:
        yield Markup('<a href="#settings">{:,} more settings</a>').format(len(others) - MOST_SETTINGS)


def _split_cases(sessions: Sequence[ComparedSession]) -> Iterator[tuple[str, str, Values]]:
    """Case, part of its kind and values, for each part in which cases of the same name differ. Such a case is not in
    common."""
    for case in dict.fromkeys(case for one in sessions for case in one.kinds):
        kinds = [one.kinds.get(case) for one in sessions]
        for part in ("scaling", "strategy"):
            values = tuple(getattr(kind, part) if kind else _NO_CASE for kind in kinds)
            if len(set(values) - {_NO_CASE}) > 1:
                yield cut(case), part, values


def _unlike(what: str, sessions: Sequence[ComparedSession], values: Values) -> Markup:
    if len(set(values)) == 1:
        return Markup()
    said = [
        f"{one.letter} " + short(units.UNKNOWN if value is None else short_digests(value))
        for one, value in zip(sessions, values, strict=True)
        if value != _NO_CASE
    ]
    return text(what if " " in what else what.replace("_", " ")) + ": " + Markup(" · ").join(said)


def settings(comparison: ComparedSessions) -> Markup:
    """Settings of the cases in common: a table of those that differ; the others are counted and folded."""
    lines = list(_setting_lines(comparison.sessions))
    return _split(lines, comparison.sessions, "setting", "of the cases in common")


def environment(comparison: ComparedSessions) -> Markup:
    """Facts about the machine and its software: a table of those that differ; the others are counted and folded."""
    names = dict.fromkeys(name for one in comparison.sessions for name in one.environment)
    lines = [
        {"name": name, "values": tuple(one.environment.get(name) for one in comparison.sessions)}
        for name in names
    ]
    return _split(lines, comparison.sessions, "fact", "about machine and software")


def _setting_lines(sessions: Sequence[ComparedSession]) -> Iterator[Row]:
    """One row per setting and tuple of values, with its cases. A session without the case does not count."""
    names = dict.fromkeys(name for one in sessions for found in one.settings.values() for name in found)
    cases = [case for case in _cases(sessions) if sum(case in one.settings for one in sessions) > 1]
    for setting in names:
        cases_of: dict[Values, list[str]] = {}
        for case in cases:
            cases_of.setdefault(tuple(_setting(one, case, setting) for one in sessions), []).append(case)
        for values, having in cases_of.items():
            if set(values) - {None, _NO_CASE}:
                yield {
                    "name": setting,
                    "values": values,
                    "count": len(having),
                    "cases": _ALL if having == cases else listed(map(cut, having), MOST_CASES),
                }


_ALL = "all"
_NO_CASE = "(no such case)"


def _setting(one: ComparedSession, case: str, name: str) -> str | None:
    return one.settings[case].get(name) if case in one.settings else _NO_CASE


def _differs(line: Row) -> bool:
    return len(set(line["values"]) - {_NO_CASE}) > 1


def _split(lines: list[Row], sessions: Sequence[ComparedSession], what: str, of: str) -> Markup:
    cases = [Column("cases", text_cell("cases"))] if lines and "cases" in lines[0] else []
    keys = [Column(what, text_cell("name")), *cases]
    return render(
        "sections/differences",
        what=what,
        of=of,
        different=[line for line in lines if _differs(line)],
        different_columns=[*keys, *(_side_column(one, place) for place, one in enumerate(sessions))],
        equal=[line for line in lines if not _differs(line)],
        equal_columns=[*keys, Column("value", _equal_value)],
    )


def _equal_value(line: Row) -> Markup:
    return folded(
        short_digests(next(value for value in line["values"] if value not in (None, _NO_CASE)) or "")
    )


def _side_column(one: ComparedSession, place: int) -> Column:
    def cell(line: Row) -> str:
        value = line["values"][place]
        shown = units.UNKNOWN if value is None else folded(short_digests(value))
        return differing(shown) if value not in (line["values"][0], _NO_CASE) else shown

    return Column(f"{one.letter}, baseline" if place == 0 else one.letter, cell)


def _cases(sessions: Sequence[ComparedSession]) -> list[str]:
    """The cases of all sessions, in the order of the first suite that has them."""
    return list(dict.fromkeys(case for one in sessions for case in one.cases))


def not_in_common(comparison: ComparedSessions) -> Markup:
    """For each session, the cases and sizes that some other session did not plan."""
    sessions = comparison.sessions
    placements = [_placements(one) for one in sessions]
    items = []
    for one, own in zip(sessions, placements, strict=True):
        alone = {
            case: [size for size in sizes if not all(size in other.get(case, ()) for other in placements)]
            for case, sizes in own.items()
        }
        said = list(_alone(alone, sessions))
        if said:
            items.append(Markup("{} has {}").format(one.letter, Markup("; ").join(said)))
    items += [
        "not the same case, " + _unlike(f"{part} of {case}", sessions, values)
        for case, part, values in _split_cases(sessions)
    ]
    return unordered(items) or Markup("<p>All sessions planned the same cases at the same sizes.</p>")


def _placements(one: ComparedSession) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in one.coverage:
        found.setdefault(row["case_name"], []).append(row["placement"])
    return found


def _alone(alone: Mapping[str, Sequence[str]], sessions: Sequence[ComparedSession]) -> Iterator[Markup]:
    whole = [case for case in alone if not all(case in one.cases for one in sessions)]
    if whole:
        yield ("case " if len(whole) == 1 else "cases ") + text(listed(map(cut, whole), MOST_CASES))
    parts = [
        f"{cut(case)} at {', '.join(sizes)}" for case, sizes in alone.items() if sizes and case not in whole
    ]
    if parts:
        yield text(listed(parts, MOST_CASES))
