"""What every form of a comparison shows: the columns of its table, and the notes around it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from analysis.compare.comparison import Comparison, Difference
from analysis.compare.sentence import judged_as, needed, percent, ratio, unit_of
from analysis.fetched import Row
from analysis.plain import cell, listed
from analysis.rounding import estimate
from analysis.summary_columns import column, throughput_unit
from analysis.tables import Column

UNLIKE = "The sides are unlike: every ratio has these differences in it, too."
_STYLES = {"faster": "green", "slower": "yellow", "inconclusive": "dim"}
_MOST_CASES = 4
_SESSIONS = {"baseline": "baseline_sessions", "candidate": "candidate_sessions"}
"""Side -> column of how many have an ok repeat."""
SETTINGS = "settings, which `bench report A B --compare --out public` lists; digests"


def key_columns(comparison: Comparison) -> list[Column]:
    """Which row it is."""
    rows = comparison.rows
    return [
        column(rows, "case", _case, number=False, foreign=True),
        column(rows, "placement", lambda row: str(row["placement"]), number=False),
    ]


def value_columns(comparison: Comparison) -> list[Column]:
    """What was found; `repeats` and `sessions` are the baseline's, then the candidate's."""
    rows = comparison.rows
    styles = ["bold red" if row["regression"] else _STYLES.get(row["verdict"], "") for row in rows]
    return [
        column(rows, "sessions", _sessions),
        column(rows, "repeats", lambda row: f"{row['baseline_repeats']:,}, {row['candidate_repeats']:,}"),
        column(rows, f"baseline, {throughput_unit(rows)}", _throughput("baseline_throughput")),
        column(rows, f"candidate, {throughput_unit(rows)}", _throughput("candidate_throughput")),
        column(
            rows, "ratio [95 %]", lambda row: "" if row["ratio"] is None else ratio(row)[1:], number=False
        ),
        column(rows, "verdict", _verdict, number=False, styles=styles),
        column(rows, _needed_heading(rows), needed),
    ]


def _case(row: Row) -> str:
    own, other = row["case_name"], row["baseline_case"]
    return cell(own if own == other else f"{own} against {other}")


def _sessions(row: Row) -> str:
    found = [row[name] for name in _SESSIONS.values()]
    return f"{found[0]:,}, {found[1]:,}" if max(found) > 1 else ""


def _throughput(name: str) -> Callable[[Row], str]:
    return lambda row: "" if row[name] is None else estimate(row[name], None, None)[0]


def _verdict(row: Row) -> str:
    return judged_as(row) or f"no ratio: {row['trouble']}"


def _needed_heading(rows: Sequence[Row]) -> str:
    return f"more {unit_of([row for row in rows if row['verdict'] == 'inconclusive'])}"


def difference(found: Difference, name: Callable[[str], str] = cell) -> str:
    """`torch: 2.15.0 → 2.16.0`; `name` makes of what others wrote what is shown."""
    values = (name(value) if value is not None else "none" for value in (found.baseline, found.candidate))
    of = f" ({listed(map(name, found.cases), _MOST_CASES)})" if found.cases else ""
    what = SETTINGS if found.key == "settings" else name(found.key.replace("_", " "))
    return f"{what}: {' → '.join(values)}{of}"


def notes(comparison: Comparison, name: Callable[[str], str] = cell) -> Iterator[str]:
    """What is not in the table, and how far its intervals hold."""
    for side, alone in zip(("baseline", "candidate"), comparison.alone, strict=True):
        if alone:
            yield f"only the {side} has: {', '.join(map(name, alone))}"
    if comparison.imported:
        yield (
            f"imported, not measured by scalebench: {', '.join(map(name, comparison.imported))}: whole trainings, "
            "whose times may contain start-up and validation"
        )
    yield _unit(comparison)
    yield (
        f"same: the interval lies within 1 ± {percent(comparison.margin)}; regression: it lies below "
        f"1 - {percent(comparison.max_regression)}, over all rows (Holm) at 5 %"
    )


def _unit(comparison: Comparison) -> str:
    rows = [row for row in comparison.rows if row["ratio"] is not None]
    by_repeat = [row for row in rows if row["unit"] == "repeat"]
    if not by_repeat:
        return "intervals: over sessions, so that what differs between sessions is in them"
    if comparison.baseline.session_ids == comparison.candidate.session_ids:
        return "intervals: over repeats, which both cases ran in turn"
    outside = "what differs between sessions (nodes, neighbours, temperature) is not in"
    mixed = [row for row in by_repeat if max(row[name] for name in _SESSIONS.values()) > 1]
    if not mixed:
        return f"intervals: over repeats; {outside} them: several sessions a side would have it in"
    single = [side for side, name in _SESSIONS.items() if any(row[name] == 1 for row in mixed)]
    return (
        f"intervals: over repeats, since of the {' or the '.join(single)} one session has ok repeats: {outside} its "
        "interval, so that equal code can come out faster or slower; two sessions or more a side have it in"
    )
