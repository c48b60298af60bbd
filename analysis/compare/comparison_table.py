"""The table of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from analysis.compare.comparison import Comparison
from analysis.compare.wording import ratio_cell
from analysis.database.rows import Row
from analysis.tables.column import Column, Tone, text_of
from analysis.tables.scaling import throughput_unit
from analysis.tables.table import Table
from analysis.wording.numbers import estimate

TONES: dict[str | None, Tone] = {"faster": "good", "slower": "fair", "inconclusive": "weak"}
"""By verdict; a regression is an alarm."""


def tone_of(row: Row) -> Tone:
    return "alarm" if row["regression"] else TONES.get(row["verdict"], "")


def comparison_tables(comparison: Comparison) -> Iterator[Table]:
    """The same table several times, each narrower than the one before: whole, without counts, and without throughputs.

    One row per case and placement; `repeats` and `sessions` show the baseline's count, then the candidate's."""
    rows = comparison.rows
    unit = throughput_unit(rows)
    keys = [
        Column("case", _case, untrusted=True, wraps=any(" " in _case(row) for row in rows)),
        Column("placement", text_of("placement")),
    ]
    counts = [
        Column("sessions", _sessions, number=True),
        Column(
            "repeats", lambda row: f"{row['baseline_repeats']:,}, {row['candidate_repeats']:,}", number=True
        ),
    ]
    rates = [
        Column(f"baseline, {unit}", _throughput("baseline_throughput"), number=True),
        Column(f"candidate, {unit}", _throughput("candidate_throughput"), number=True),
    ]
    answer = [
        Column("ratio [95 %]", ratio_cell),
        Column("verdict", _verdict, wraps=True, tone=tone_of),
    ]
    for values in ([*counts, *rates, *answer], [*rates, *answer], answer):
        yield Table(rows=rows, keys=keys, values=values)


def _case(row: Row) -> str:
    own, other = row["case_name"], row["baseline_case"]
    return str(own if own == other else f"{own} against {other}")


def _verdict(row: Row) -> str:
    return row["verdict_text"] or f"no ratio: {row['trouble']}"


def _sessions(row: Row) -> str:
    found = (row["baseline_sessions"], row["candidate_sessions"])
    return f"{found[0]:,}, {found[1]:,}" if max(found) > 1 else ""


def _throughput(name: str) -> Callable[[Row], str]:
    return lambda row: "" if row[name] is None else estimate(row[name], None, None)[0]
