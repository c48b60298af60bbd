"""What the sessions do not have in common: what makes them unlike, settings, environment, cases and sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from analysis.fetched import Row
from analysis.plain import listed
from analysis.report import units
from analysis.report.compare.contents import Comparison, Side
from analysis.report.markup import (
    LONGEST,
    Column,
    cut,
    details,
    differing,
    folded,
    short,
    table,
    text,
    unordered,
)

MOST_CASES = 6
"""Cases that a line names; it counts the others."""

_OF_IMPORTS = "measured_by"
"""In the fingerprint of what `bench import` made; where it is missing, scalebench measured."""

_SETTINGS = "settings of "
"""So begin the keys of queries/likeness.sql whose values are digests, one for each case and placement."""
_SEE_SETTINGS = '<a href="#settings">settings</a> of cases in common'

Values = tuple[str | None, ...]
"""Of one thing, a value for each session; null where the session does not have it."""


def unlike(sides: Sequence[Side]) -> list[str]:
    """HTML lines: facts that should be equal and are not, with every session's value."""
    suites = tuple(side.session["suite"] + (" (quick)" if side.session["quick"] else "") for side in sides)
    workloads = tuple(side.session["workloads"] for side in sides)
    rates = tuple(side.session["throughput_units"] for side in sides)
    lines = [
        _unlike("suite", sides, suites),
        _unlike("workload", sides, workloads),
        _unlike("unit of throughput", sides, rates),
    ]
    keys = dict.fromkeys(key for side in sides for key in side.likeness)
    for key in keys:
        values = tuple(side.likeness.get(key) for side in sides)
        if None in values and key != _OF_IMPORTS:  # what is not known of one may be equal
            continue
        if not key.startswith(_SETTINGS):
            lines.append(_unlike(key, sides, values))
        elif len(set(values)) > 1 and _SEE_SETTINGS not in lines:
            lines.append(_SEE_SETTINGS)
    lines += list(_unlike_settings(sides))
    lines += [_unlike(f"{part} of {case}", sides, values) for case, part, values in _split_cases(sides)][
        :MOST_CASES
    ]
    return [line for line in lines if line]


_TELLING = ("global_batch", "batch_per_rank", "train.precision", "parameters", "threads")
"""Settings whose differences are said at the top. Scaling and strategy are not among them: they part cases."""


def _unlike_settings(sides: Sequence[Side]) -> Iterator[str]:
    """For each setting the values of most cases; cases that differ in other values are counted, and what is not known
    of one session may be equal."""
    found = [line for line in _setting_lines(sides) if _differs(line) and None not in line["values"]]
    for name in _TELLING:
        lines = sorted((line for line in found if line["name"] == name), key=lambda line: -line["count"])
        if lines:
            others = sum(line["count"] for line in lines[1:])
            more = f"; other values in {others:,} more {'case' if others == 1 else 'cases'}" if others else ""
            what = f"{name.rpartition('.')[2].replace('_', ' ')} of {_all_or(lines[0]['cases'])}"
            yield _unlike(what, sides, lines[0]["values"]) + more


def _split_cases(sides: Sequence[Side]) -> Iterator[tuple[str, str, Values]]:
    """Case and part of its kind, where sessions have different ones under one name: the case is not in common."""
    for case in dict.fromkeys(case for side in sides for case in side.kinds):
        kinds = [side.kinds.get(case) for side in sides]
        for part in ("scaling", "strategy"):
            values = tuple(getattr(kind, part) if kind else _NO_CASE for kind in kinds)
            if len(set(values) - {_NO_CASE}) > 1:
                yield _named(case), part, values


def _all_or(cases: str) -> str:
    return "all cases in common" if cases == _ALL else cases


def _unlike(what: str, sides: Sequence[Side], values: Values) -> str:
    if len(set(values)) == 1:
        return ""
    said = [
        f"{side.letter} {units.UNKNOWN if value is None else short(value)}"
        for side, value in zip(sides, values, strict=True)
        if value != _NO_CASE
    ]
    return f"{text(what if ' ' in what else what.replace('_', ' '))}: {' · '.join(said)}"


def settings(comparison: Comparison) -> str:
    """Settings of the cases in common: those that differ as a table, the others counted and folded."""
    lines = list(_setting_lines(comparison.sides))
    return _split(lines, comparison.sides, "setting", "of the cases in common")


def environment(comparison: Comparison) -> str:
    """The same of facts about the machine and its software."""
    names = dict.fromkeys(name for side in comparison.sides for name in side.environment)
    lines = [
        {"name": name, "values": tuple(side.environment.get(name) for side in comparison.sides)}
        for name in names
    ]
    return _split(lines, comparison.sides, "fact", "about machine and software")


def _setting_lines(sides: Sequence[Side]) -> Iterator[Row]:
    """One per setting and tuple of values, with the cases that have it; a session without the case takes no part."""
    names = dict.fromkeys(name for side in sides for found in side.settings.values() for name in found)
    cases = [case for case in _cases(sides) if sum(case in side.settings for side in sides) > 1]
    for name in names:
        cases_of: dict[Values, list[str]] = {}
        for case in cases:
            cases_of.setdefault(tuple(_setting(side, case, name) for side in sides), []).append(case)
        for values, having in cases_of.items():
            if set(values) - {None, _NO_CASE}:
                yield {
                    "name": name,
                    "values": values,
                    "count": len(having),
                    "cases": _ALL if having == cases else listed(map(_named, having), MOST_CASES),
                }


_ALL = "all"
_NO_CASE = "(no such case)"


def _setting(side: Side, case: str, name: str) -> str | None:
    return side.settings[case].get(name) if case in side.settings else _NO_CASE


def _differs(line: Row) -> bool:
    return len(set(line["values"]) - {_NO_CASE}) > 1


def _split(lines: list[Row], sides: Sequence[Side], what: str, of: str) -> str:
    different = [line for line in lines if _differs(line)]
    equal = [line for line in lines if not _differs(line)]
    if not lines:
        return f'<p class="empty">There is no {what} {of}.</p>'
    said = "" if different else f"<p>Every {what} {of} is equal.</p>"
    name = Column(label=what, cell=lambda line: text(line["name"]))
    cases = [Column(label="cases", cell=lambda line: text(line["cases"]))] if "cases" in lines[0] else []
    shown = [name, *cases, *(_side_column(side, place) for place, side in enumerate(sides))]
    value = Column(label="value", cell=lambda line: folded(_equal_value(line["values"])))
    plural = what if len(equal) == 1 else f"{what}s"
    if different:
        said = table(f"What differs: one row per {what}, one column per session", shown, different)
    alike = table(f"What is equal: one row per {what}", [name, *cases, value], equal)
    return said + (details(f"{len(equal):,} equal {plural} {of}", alike, "equal") if equal else "")


def _side_column(side: Side, place: int) -> Column:
    def cell(line: Row) -> str:
        value = line["values"][place]
        shown = units.UNKNOWN if value is None else folded(value)
        return differing(shown) if value not in (line["values"][0], _NO_CASE) else shown

    return Column(label=f"{side.letter}, baseline" if place == 0 else side.letter, cell=cell)


def _equal_value(values: Values) -> str:
    return next(value for value in values if value not in (None, _NO_CASE)) or ""


def _cases(sides: Sequence[Side]) -> list[str]:
    """Of all sessions, in the order of the first suite that has them."""
    return list(dict.fromkeys(case for side in sides for case in side.cases))


def not_in_common(comparison: Comparison) -> str:
    """For each session the cases and sizes that not every other one set out to run."""
    sides = comparison.sides
    placements = [_placements(side) for side in sides]
    items = []
    for side, own in zip(sides, placements, strict=True):
        alone = {
            case: [size for size in sizes if not all(size in other.get(case, ()) for other in placements)]
            for case, sizes in own.items()
        }
        said = list(_alone(alone, sides))
        if said:
            items.append(f"{side.letter} has {'; '.join(said)}")
    items += [
        f"not the same case, {_unlike(f'{part} of {case}', sides, values)}"
        for case, part, values in _split_cases(sides)
    ]
    return unordered(items) or "<p>All sessions planned the same cases at the same sizes.</p>"


def _placements(side: Side) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in side.coverage:
        found.setdefault(row["case_name"], []).append(row["placement"])
    return found


def _alone(alone: Mapping[str, Sequence[str]], sides: Sequence[Side]) -> Iterator[str]:
    whole = [case for case in alone if not all(case in side.cases for side in sides)]
    if whole:
        yield f"{'case' if len(whole) == 1 else 'cases'} {text(listed(map(_named, whole), MOST_CASES))}"
    parts = [
        f"{_named(case)} at {', '.join(sizes)}"
        for case, sizes in alone.items()
        if sizes and case not in whole
    ]
    if parts:
        yield text(listed(parts, MOST_CASES))


def _named(case: str) -> str:
    return cut(case, LONGEST)
