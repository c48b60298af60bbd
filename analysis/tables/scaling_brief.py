"""The scaling table that a terminal shows by default: how fast, how much faster, and how certain that is."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence

from analysis.database.rows import Row
from analysis.tables.column import Column
from analysis.tables.scaling import compared, configuration, rates, ratio_parts, verdict_column
from analysis.tables.table import Table
from analysis.wording.numbers import telling_estimate


def brief_tables(points: Sequence[Row], coverage: Sequence[Row]) -> Iterator[Table]:
    """The same table several times, each narrower than the one before: with the intervals of all columns, without
    those of the throughput, without percent signs, and with the interval of the efficiency alone. The interval of the
    speedup is the same one, times the number of ranks.

    One row per row of `scaling`, without sizes whose runs were all skipped: one sentence says why they were."""
    skipped = {row["point_id"] for row in coverage if row["skipped"] and row["skipped"] == row["planned"]}
    rows = [point for point in points if point["point_id"] not in skipped] or points
    ratios = compared(rows)
    ranks = Column("ranks", _ranks, number=True)
    for throughput, speedup, percent in (
        (True, True, " %"),
        (False, True, " %"),
        (False, True, ""),  # the heading has it, to be narrow
        (False, False, ""),
    ):
        yield Table(
            rows=rows,
            keys=[Column("case", configuration, untrusted=True), ranks],
            values=[
                *(_column(heading, _rate(field), rows, throughput) for heading, field in rates(rows)),
                _column("speedup", _speedup(ratios), rows, speedup),
                _column(
                    "efficiency" if percent else "efficiency %",
                    _efficiency(percent, ratios),
                    rows,
                    with_intervals=True,
                    says_so=bool(percent),
                ),
                verdict_column(coverage),
            ],
        )


def _ranks(row: Row) -> str:
    """The number of ranks, and their placement if they are on several nodes: `8`, `8 (2x4)`."""
    over = f" ({row['nodes']}x{row['ranks_per_node']})" if row["nodes"] > 1 else ""
    return f"{row['world_size']}{over}"


Parts = Callable[[Row], tuple[str, str]]
"""The text of a row's value, and that of its interval; both empty without a value."""


def _rate(name: str) -> Parts:
    return lambda row: (
        ("", "") if row[name] is None else telling_estimate(row[name], row[f"{name}_lo"], row[f"{name}_hi"])
    )


def _speedup(point_ids: Container[str]) -> Parts:
    return lambda row: ratio_parts(row, "speedup") if row["point_id"] in point_ids else ("", "")


def _efficiency(percent: str, point_ids: Container[str]) -> Parts:
    def parts(row: Row) -> tuple[str, str]:
        value, interval = ratio_parts(row, "efficiency", 100)
        return (value and f"{value}{percent}", interval) if row["point_id"] in point_ids else ("", "")

    return parts


def _column(
    heading: str, parts: Parts, rows: Sequence[Row], with_intervals: bool, *, says_so: bool = True
) -> Column:
    """Values aligned right and, behind them, their intervals aligned left; or the values alone."""
    shown = {row["point_id"]: parts(row) for row in rows}
    if not with_intervals or not any(interval for _, interval in shown.values()):
        return Column(heading, lambda row: shown[row["point_id"]][0], number=True)
    width = max(len(value) for value, _ in shown.values())

    def cell(row: Row) -> str:
        value, interval = shown[row["point_id"]]
        return f"{value:>{width}} {interval}".rstrip()

    return Column(f"{heading} [95 %]" if says_so else heading, cell)
