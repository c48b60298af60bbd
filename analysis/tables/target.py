"""The time of each size to the target: a table for terminals and exports."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.database.rows import Row
from analysis.tables.column import Column, text_of
from analysis.tables.table import Table
from analysis.wording.numbers import estimate
from analysis.wording.plain_text import number
from analysis.wording.target import speedup


def target_table(rows: Sequence[Row]) -> Table:
    """Rows are those of `time_to_target`."""
    return Table(
        rows=rows,
        keys=[
            Column("case", text_of("case_name"), untrusted=True),
            Column("ranks", text_of("world_size"), number=True),
        ],
        values=[
            Column("reached", lambda row: f"{row['reached']}/{row['reached'] + row['missed']}", number=True),
            Column("steps", _steps, number=True),
            Column("s [95 %]", _seconds),
            Column("speedup [95 %]", _speedup),
        ],
    )


def _speedup(row: Row) -> str:
    return "baseline" if row["is_baseline"] else " ".join(filter(None, speedup(row)))


def _steps(row: Row) -> str:
    return "" if row["steps"] is None else number(row["steps"], 4)


def _seconds(row: Row) -> str:
    if row["seconds"] is None:
        return ""
    return " ".join(filter(None, estimate(row["seconds"], row["seconds_lo"], row["seconds_hi"])))
