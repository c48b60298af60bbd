"""The advice of a session: the most certain advice that matters comes first, and advice to repeat is one piece."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from analysis.database.rows import Row
from analysis.wording import verdicts
from analysis.wording.lost_efficiency import profile_option
from analysis.wording.sizes import largest

_MOST = 3
"""Pieces of advice that the terminal and the first screen show."""
NONE_CERTAIN = "No certain advice yet."
_SHOWN = ("critical", "warning")
REPEATED = ("one_repeat", "undecided", "too_few_repeats")
"""Findings about certainty, which ask for repeats. All of a session ask for the same number."""
_NO_ADVICE = (*REPEATED, "unexplained_loss")
"""Findings whose advice is to measure more."""
_HARDWARE = ("slow_node", "straggler")
"""Findings that name hardware to replace: no setting changes it, and it may explain the whole loss of a size."""
_MOST_CASES = 3
"""Cases that one command changes."""
_ROUNDING = 0.005
"""Share of the ranks' time by which a cost may differ from the whole loss and still restate it."""
_SETTING = re.compile(r"--set (cases[.][^ =]+)=")
_ONLY_SETTINGS = re.compile(r"--set cases[.]\S+( --set cases[.]\S+)*")


@dataclass(frozen=True, kw_only=True)
class Advice:
    """Advice on one finding in one or more cases."""

    worst: Row
    """The finding's first row in the order of advice; for repeats the row that asks for the most."""
    cases: tuple[str, ...]
    """The cases that have it; empty if it is about the session."""
    title: str
    """The advice, as one or two sentences."""
    evidence: str
    is_certain: bool
    """Whether the runs show the finding; otherwise it is likely."""
    options: str | None
    """Arguments of `bench suite` that follow the advice in all of these cases or, if one command cannot, in the worst;
    null if no setting does."""

    @property
    def is_of_repeats(self) -> bool:
        """Whether the advice is to repeat; it may join several findings."""
        return self.worst["finding"] in REPEATED

    @property
    def certainty(self) -> str:
        """In a word; empty for advice to measure more."""
        if self.worst["finding"] in _NO_ADVICE:
            return ""
        return "certain" if self.is_certain else "likely, not certain"


def first_advice(found: Sequence[Row], points: Sequence[Row]) -> list[Advice]:
    """Critical findings and warnings, and how to decide open verdicts; each once even if several cases have it.
    `found` are rows of `diagnosis`, `points` of `scaling`."""
    sizes = largest(points)
    open_cases = {point["case_name"] for point in sizes if _is_open(point)}
    undecided = {point["case_name"] for point in sizes if verdicts.is_open(point)}
    lost = {point["case_name"]: 1 - point["efficiency"] for point in sizes if point["efficiency"] is not None}
    groups: dict[str, list[Row]] = {}
    for row in sorted(found, key=lambda row: (_rank(row, undecided, lost), row["finding_order"])):
        if row["finding"] in REPEATED:
            if row["case_name"] in open_cases or row["finding"] != "too_few_repeats":
                groups.setdefault("repeats", []).append(row)
        elif row["severity"] in _SHOWN:
            groups.setdefault(row["finding"], []).append(row)
    if "repeats" in groups:
        # what more rounds do not decide is another piece of advice
        groups["repeats"] = [row for row in groups["repeats"] if _asks_for_rounds(row)] or groups["repeats"]
    every = _measuring_once(sorted(groups.values(), key=lambda rows: _rank(rows[0], undecided, lost)))
    chosen = every[:_MOST]
    if undecided and "repeats" in groups and groups["repeats"] not in chosen:
        chosen[-1] = groups["repeats"]
    unexplained = [row for row in found if row["finding"] == "unexplained_loss"]
    if unexplained and len(chosen) < _MOST:
        chosen.append(unexplained)
    verdict = {point["case_name"]: point for point in sizes if point["case_name"] in open_cases}
    return [_advice(rows, verdict) for rows in chosen]


def _asks_for_rounds(row: Row) -> bool:
    return row.get("advice", "").startswith("Take ") is True


def _measuring_once(groups: Sequence[list[Row]]) -> list[list[Row]]:
    """Without later ones whose first advice is to profile, as that of an earlier one is."""
    profiling = [rows for rows in groups if rows[0]["options"] == profile_option()]
    return [rows for rows in groups if rows not in profiling[1:]]


def any_certain(given: Sequence[Advice]) -> bool:
    """Whether some advice is certain and about the training or the machine, not about repeats."""
    return any(one.is_certain and one.worst["finding"] not in _NO_ADVICE for one in given)


def _is_open(point: Row) -> bool:
    return point["efficiency"] is not None and not point["oversubscribed"] and verdicts.is_between(point)


def _first(advice: str) -> str:
    """The first sentence; up to a colon or semicolon, which begins the reason, unless that is within parentheses, or
    only two words follow."""
    sentence = re.split(r"[.](?: |$)", advice, maxsplit=1)[0]
    short, *rest = re.split(r"[:;] ", sentence, maxsplit=1)
    is_whole = short.count("(") == short.count(")") and len(" ".join(rest).split()) > 2
    return f"{short if is_whole else sentence}."


def _rank(row: Row, undecided: Set[str], lost: Mapping[str, float]) -> int:
    """Findings that spoil the figures, then what is certain and costs time or runs, then how to decide what is open,
    then what costs no known time or only restates a loss, then what is likely."""
    if row["finding"] == "busy_machine":
        return -1
    if row["finding"] == "one_repeat":
        return 1
    if row["severity"] == "critical" and row["cost"] is None and row["certainty"] == "shown":
        return 0
    if row["finding"] == "runs_not_ok":  # more repeats would fail, too
        return 2
    if row["finding"] in REPEATED:
        return 3
    if row["certainty"] != "shown" or row["case_name"] in undecided:
        return 5
    restates = row["options"] is None and row["finding"] not in _HARDWARE
    restates = restates and (row["cost"] or 0) >= lost.get(row["case_name"], 1) - _ROUNDING
    return 2 if row["cost"] and not restates else 4


def _advice(rows: Sequence[Row], open_points: Mapping[str, Row]) -> Advice:
    worst = rows[0]
    cases = tuple(dict.fromkeys(row["case_name"] for row in rows if row["case_name"] is not None))
    title, evidence = _first(worst["short_advice"]), worst["short_evidence"].partition("; ")[0]
    if worst["finding"] in REPEATED:
        still_open = [open_points[case] for case in cases if case in open_points]
        if still_open:
            said = [f"{point['case_name']} may be {verdicts.possible(point)}" for point in still_open]
            more = [f"and {len(said) - _MOST_CASES} more"] if len(said) > _MOST_CASES else []
            evidence = "; ".join([*said[:_MOST_CASES], *more])
    is_certain = worst["certainty"] == "shown"
    return Advice(
        worst=worst,
        cases=cases,
        title=title,
        evidence=evidence,
        is_certain=is_certain,
        options=_options(rows),
    )


def _options(rows: Sequence[Row]) -> str | None:
    """The options of all rows if each sets keys of cases that no other row sets, otherwise those of the first."""
    first = str(rows[0]["options"]) if rows[0]["options"] else None
    every = list(dict.fromkeys(row["options"] or "" for row in rows))
    keys = [key for options in every for key in _SETTING.findall(options)]
    joins = len(every) <= _MOST_CASES and len(keys) == len(set(keys))
    return " ".join(every) if joins and all(map(_ONLY_SETTINGS.fullmatch, every)) else first
