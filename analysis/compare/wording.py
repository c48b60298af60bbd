"""A comparison in words: the closing sentence, the facts that differ, and notes.

The parameter `name` quotes untrusted text, such as a case's name, for the output's format.
"""

from __future__ import annotations

import math
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from analysis.compare.comparison import USER_FILE, Comparison, Difference
from analysis.database.rows import Row
from analysis.wording import numbers, verdicts
from analysis.wording.caveats import busy_sides, of_the_rounds
from analysis.wording.numbers import estimate
from analysis.wording.plain_text import listed, number

VERDICTS = ("faster", "slower", "same", "inconclusive")
_OPEN = ("inconclusive", "not excluded")
"""Verdicts on rows that are neither faster nor slower for certain, nor the same."""
_SEEN = "would have seen "
"""Words before the change that an inconclusive row would have shown, in its verdict_text."""
UNLIKE = "The two sides differ, and every ratio includes these differences."
TRAINING_CODE = "training_code"
"""The fingerprint's key with the digest of scalebench's files that ranks execute."""
NAMES_OF_TRAINING_CODE = ("scalebench", "commit")
"""Keys of the fingerprint that say which training code it was."""
_MOST_CASES = 4
_MOST_FILES = 6
_LONGEST_SETTINGS = 160
"""Characters up to which settings that differ are named here, and not only on the page."""
_SESSIONS = {"baseline": "baseline_sessions", "candidate": "candidate_sessions"}
"""Side -> column with the number of its sessions that have an ok repeat."""


def not_alike(comparison: Comparison) -> str:
    """Why the two sides cannot be taken for runs on like machines; empty if they can."""
    if found := comparison.other_machine:
        return f"the two sides ran on different machines ({'; '.join(map(difference, found))})"
    if not comparison.is_known:
        return "a session of a side has no fingerprint, so nothing shows that the machines are alike"
    return ""


def percent(fraction: float) -> str:
    """`2 %`."""
    return f"{number(100 * fraction, 4)} %"


def ratio(row: Row, limit: float | None = None) -> str:
    """`0.900× [0.879, 0.922]`, or `(too noisy to tell)`; without brackets if a side has only one unit. No number reads
    as one on the other side of `limit`."""
    if is_too_noisy(row):
        how_much = " how much" if row["verdict"] in ("faster", "slower") else ""
        return f"({verdicts.TOO_NOISY}{how_much})"
    kind = None if limit is None else lambda number: number < limit
    value, interval = estimate(row["ratio"], row["ratio_lo"], row["ratio_hi"], apart_from=1, kind=kind)
    return f"{value}× {interval}".rstrip()


def ratio_cell(row: Row) -> str:
    """The same for a column: `0.900 [0.879, 0.922]`; empty without a ratio."""
    if row["ratio"] is None:
        return ""
    return " ".join(
        numbers.telling_estimate(row["ratio"], row["ratio_lo"], row["ratio_hi"], apart_from=1)
    ).rstrip()


def is_too_noisy(row: Row) -> bool:
    """Whether the ends of a ratio's interval differ by more than a factor of four."""
    return numbers.is_too_wide(row["ratio_lo"], row["ratio_hi"])


def sentence(comparison: Comparison, name: Callable[[str], str] = str) -> str:
    """One line: whether all rows moved together, whether a regression is certain, what is undecided, and what has no
    ratio."""
    judged = [row for row in comparison.rows if row["verdict"] is not None]
    if not judged:
        return "No verdict: every row was oversubscribed."
    together = f"{moved}. " if (moved := moved_together(judged, name)) else ""
    decided = f"{_decided(judged, comparison, name)}; {_counted(judged)}"
    return f"{together}{decided}{_missing(comparison.rows, name)}."


def moved_together(rows: Sequence[Row], name: Callable[[str], str]) -> str:
    """`All 12 rows moved by −3.1 %: something that they share`, and the rows that differ beyond that; empty if they did
    not move together."""
    if not rows or rows[0]["shared_ratio"] is None:
        return ""
    first = rows[0]
    moved = "All" if first["moved_rows"] == first["compared_rows"] else f"{first['moved_rows']:,} of"
    by = numbers.shown(100 * (first["shared_ratio"] - 1), 1)
    said = f"{moved} {first['compared_rows']:,} rows moved by {by} %: something that they share"
    differing = [_named(row, name) for row in rows if row["differs"]]
    differ = "differs" if len(differing) == 1 else "differ"
    return f"{said}; beyond that, {listed(differing, _MOST_CASES)} {differ}" if differing else said


def _decided(judged: Sequence[Row], comparison: Comparison, name: Callable[[str], str]) -> str:
    limit = percent(comparison.max_regression)
    if failed := regressions(comparison.rows):
        return largest_regression(failed, comparison.max_regression, name)
    if all(_is_ruled_out(row, comparison) for row in judged):
        return f"No regression beyond {limit}: no interval reaches below it"
    return f"No regression beyond {limit} is certain, {_open(judged, comparison, name)}"


def _missing(rows: Sequence[Row], name: Callable[[str], str]) -> str:
    """The rows of which a side has no ok repeat: `; 1 more has no ratio: ddp 1x8 (candidate: 4 failed)`."""
    missing = [row for row in rows if row["ratio"] is None]
    if not missing:
        return ""
    first = f"{name(missing[0]['case_name'])} {missing[0]['placement']} ({missing[0]['trouble']})"
    return (
        f"; 1 more has no ratio: {first}"
        if len(missing) == 1
        else f"; {len(missing):,} more have no ratio, such as {first}"
    )


def largest_regression(failed: Sequence[Row], max_regression: float, name: Callable[[str], str]) -> str:
    """Name the largest regression; `failed` are all regressions, the largest first."""
    more = f" and {len(failed) - 1:,} more" if len(failed) > 1 else ""
    return f"Regression beyond {percent(max_regression)}: {_named(failed[0], name)}{more}"


def regressions(rows: Iterable[Row]) -> list[Row]:
    """The rows that are regressions, the largest first."""
    return sorted((row for row in rows if row["regression"]), key=lambda row: row["ratio"])


def counts(judged: Iterable[Row]) -> str:
    """`1 faster, 2 same, 9 inconclusive (would have seen 6 %), of which one looks slower`."""
    rows = list(judged)
    found = Counter("inconclusive" if is_undecided(row) else row["verdict"] for row in rows)
    counted = ", ".join(f"{found[verdict]:,} {verdict}" for verdict in VERDICTS if found[verdict])
    return f"{counted}{_seen(rows)}{_looks(rows)}"


def is_undecided(row: Row) -> bool:
    return row["verdict"] in _OPEN


def _seen(rows: Sequence[Row]) -> str:
    """The changes that the inconclusive rows would have shown: ` (would have seen 6 % to 16 %)`."""
    inconclusive = [row for row in rows if row["verdict"] == "inconclusive"]
    if any(row["ratio_lo"] is None for row in inconclusive):
        units = {f"{row['unit']}s" for row in inconclusive if row["ratio_lo"] is None}
        return f" (some without an interval, which takes three {' or '.join(sorted(units))} on a side)"
    ordered = sorted(
        inconclusive, key=lambda row: math.inf if row["change_seen"] is None else row["change_seen"]
    )
    changes = list(dict.fromkeys(row["verdict_text"].partition(_SEEN)[2] for row in ordered))
    return f" ({_SEEN}{' to '.join(dict.fromkeys([changes[0], changes[-1]]))})" if changes else ""


def _looks(rows: Sequence[Row]) -> str:
    """The rows whose interval excludes 1 only without Holm's correction, which are not counted as slower or faster."""
    found = Counter(
        "slower" if row["ratio"] < 1 else "faster" for row in rows if row["verdict"] == "not excluded"
    )
    said = [
        f"{'one' if count == 1 else f'{count:,}'} {_look(count)} {how}"
        for how, count in sorted(found.items())
    ]
    if not said:
        return ""
    if sum(map(is_undecided, rows)) == 1:
        return f", which looks {next(iter(found))}"
    return f", of which {' and '.join(said)}"


def _look(count: int) -> str:
    return "looks" if count == 1 else "look"


def _named(row: Row, name: Callable[[str], str], limit: float | None = None) -> str:
    return f"{name(row['case_name'])} {row['placement']} {ratio(row, limit)}"


def _is_ruled_out(row: Row, comparison: Comparison) -> bool:
    return row["ratio_lo"] is not None and row["ratio_lo"] >= 1 - comparison.max_regression


def _open(judged: Sequence[Row], comparison: Comparison, name: Callable[[str], str]) -> str:
    """The rows that may still be regressions."""
    rows = [row for row in judged if not _is_ruled_out(row, comparison)]
    lowest = _named(min(rows, key=lambda row: row["ratio"]), name, 1 - comparison.max_regression)
    if len(rows) == 1:
        return f"but {lowest} does not rule it out"
    return f"but {len(rows):,} of {len(judged):,} rows do not rule it out, such as {lowest}"


def _counted(judged: Sequence[Row]) -> str:
    of = f"of {len(judged):,} rows " if len(judged) > 1 else ""
    return of + counts(judged)


def differences(comparison: Comparison, name: Callable[[str], str] = str) -> Iterator[tuple[bool, str]]:
    """Whether it must be equal, and the words, of each difference. Files of the user's code are one line for all cases
    that they differ in: `the code differs: model.py, train/optim.py (commit 1a2b3c4d5e6f → 4d5e6f1a2b3c, changed)`."""
    files: dict[tuple[str, ...], list[str]] = {}
    for found in comparison.differences:
        if found.user_file is not None:
            files.setdefault(tuple(found.cases or ()), []).append(found.user_file)
    commits = [found for found in comparison.differences if found.key == "user_commit"]
    at = f" (commit {_values(commits[0], name)})" if commits else ""
    for cases, changed in files.items():
        yield (
            True,
            f"the code differs: {listed(map(name, changed), _MOST_FILES)}{at}{_limited_to(cases, name)}",
        )
    settings = [found for found in comparison.differences if found.key == "settings"]
    if settings:
        in_all = any(found.cases is None for found in settings)
        differing = (
            [] if in_all else list(dict.fromkeys(case for found in settings for case in found.cases or ()))
        )
        everywhere = differing or [row["case_name"] for row in comparison.rows]
        first, *others = {comparison.settings.get(case, "") for case in everywhere}
        named_here = not others and 0 < len(first) <= _LONGEST_SETTINGS
        which = f": {name(first)}" if named_here else _listing(comparison)
        yield True, f"settings{_limited_to(differing, name)}{which}"
    code = [found for found in comparison.differences if found.key == TRAINING_CODE and found.must_equal]
    named = [found for found in comparison.differences if found.key in NAMES_OF_TRAINING_CODE] if code else []
    for found in comparison.differences:
        if found in code and named:
            at = ", ".join(f"{one.key} {_values(one, name)}" for one in named)
            yield True, f"the training code differs: {at}{_limited_to(found.cases or (), name)}"
        elif found.user_file is None and found not in (*settings, *named, *(commits if files else ())):
            yield found.must_equal, difference(found, name)


def difference(found: Difference, name: Callable[[str], str] = str) -> str:
    """`torch: 2.15.0 → 2.16.0`."""
    of = _limited_to(found.cases or (), name)
    if found.key.startswith(USER_FILE) and None in (found.baseline, found.candidate):
        side = "candidate" if found.baseline is None else "baseline"
        return f"only the {side} has the {name(found.key)}{of}"
    # names of files and packages keep their underscores
    is_name = found.key.startswith(USER_FILE)
    key = found.key if is_name else found.key.replace("user_", "your ").replace("_", " ")
    return f"{name(key)}: {_values(found, name)}{of}"


def _listing(comparison: Comparison) -> str:
    """The command that lists settings; empty if both sides are cases of one session."""
    sides = [",".join(side.session_ids) for side in (comparison.baseline, comparison.candidate)]
    if set(comparison.baseline.session_ids) & set(comparison.candidate.session_ids):
        return ""
    return f", which `bench report {shlex.join(sides)} --compare` lists"


def short_digests(value: str) -> str:
    """The text with 12 digits of each commit and 8 of a digest; a number of 16 digits stays whole."""
    if found := re.fullmatch("((?:digest )?[0-9a-f]{8})[0-9a-f]{8}", value):
        return value if value.isdigit() else found[1]
    return re.sub(r"\b([0-9a-f]{12})[0-9a-f]{28}\b", r"\1", value)


def _values(found: Difference, name: Callable[[str], str]) -> str:
    values = (found.baseline, found.candidate)
    return " → ".join(name(short_digests(value)) if value is not None else "none" for value in values)


def _limited_to(cases: Sequence[str], name: Callable[[str], str]) -> str:
    """The cases that a difference is limited to: ` (ddp)`."""
    return f" ({listed(map(name, cases), _MOST_CASES)})" if cases else ""


def notes(comparison: Comparison, name: Callable[[str], str] = str) -> Iterator[str]:
    """Facts that the table leaves out, and what its intervals cover."""
    for side, alone in zip(("baseline", "candidate"), comparison.alone, strict=True):
        if alone:
            yield f"only the {side} has: {', '.join(map(name, alone))}"
    if comparison.imported:
        yield (
            f"imported, not measured by scalebench: {', '.join(map(name, comparison.imported))}: whole trainings, "
            "whose times may contain start-up and validation"
        )
    if comparison.busy:
        yield busy_sides(list(map(name, comparison.busy)))
    yield _intervals_over(comparison)
    if of_rounds := [row["blocks"] for row in comparison.rows if _is_of_rounds(row)]:
        yield f"ratio: the {of_the_rounds(of_rounds)}, which is not the quotient of both throughputs"
    if compared := comparison.rows[0]["compared_rows"]:
        yield (
            f"faster, slower: the interval excludes 1, also over all {compared:,} rows (Holm) at 5 %; regression: "
            f"slower, and below 1 \u2212 {percent(comparison.max_regression)} in the same way"
        )
    if any(row["change_seen"] is not None for row in comparison.rows):
        yield "would have seen: a change of this size is called faster or slower in four of five comparisons"


def _is_of_rounds(row: Row) -> bool:
    """Whether the ratio is that of rounds, and not the quotient of the throughputs that the table shows."""
    if row["ratio"] is None or row["blocks"] is None:
        return False
    quotient = row["candidate_throughput"] / row["baseline_throughput"]
    return not math.isclose(row["ratio"], quotient, rel_tol=0.0005)


def _intervals_over(comparison: Comparison) -> str:
    rows = [row for row in comparison.rows if row["ratio"] is not None]
    by_repeat = [row for row in rows if row["unit"] == "repeat"]
    if not by_repeat:
        return "intervals: over sessions, so they include differences between sessions"
    if comparison.baseline.session_ids == comparison.candidate.session_ids:
        return "intervals: over repeats, which both cases ran in turn"
    between = "differences between sessions (nodes, neighbours, temperature)"
    mixed = [row for row in by_repeat if max(row[name] for name in _SESSIONS.values()) > 1]
    if not mixed:
        return f"intervals: over repeats, without {between}; run three sessions per side to include them"
    single = [side for side, name in _SESSIONS.items() if any(row[name] == 1 for row in mixed)]
    why = (
        f"only one session of the {' or the '.join(single)} has ok repeats"
        if single
        else "no side has three sessions"
    )
    return (
        f"intervals: over repeats, as {why}. They leave "
        f"out {between}, so equal code can come out faster or slower: run three sessions per side"
    )
