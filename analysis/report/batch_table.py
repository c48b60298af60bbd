"""What fits: one row per case and placement at which find_batch looked for the largest micro-batch."""

from __future__ import annotations

from analysis.batch_words import division
from analysis.fetched import Row
from analysis.report import units
from analysis.report.markup import Column, first_rows, table, text

MOST_ROWS = 40
"""Of the table; the CSV has all."""

_READING = (
    "Micro-batches were doubled until one did not fit a rank; what lies between is not known. Memory is that of the "
    "rank that needed most, at the largest that fits. Measured: micro-batches per optimizer step and rank."
)


def batches(rows: list[Row]) -> str:
    """`rows`: queries/batches.sql. Nothing where there are none."""
    if not rows:
        return ""
    more = first_rows(MOST_ROWS, len(rows))
    caption = "Largest batches: one row per case and placement"
    return f'<p class="reading">{_READING}{more}</p>' + table(caption, _COLUMNS, rows[:MOST_ROWS])


def _too_large(row: Row) -> str:
    if row["too_large_micro_batch"] is None:
        return text("none tried")
    return text(f"{row['too_large_micro_batch']:,} ({row['too_large_status']})")


def _count(value: int | None) -> str:
    return units.UNKNOWN if value is None else f"{value:,}"


_COLUMNS = [
    Column(label="case", cell=lambda row: text(row["case_name"])),
    Column(label="placement", cell=lambda row: text(row["placement"])),
    Column(label="fits", cell=lambda row: _count(row["largest_micro_batch"]), numeric=True),
    Column(label="does not fit", cell=_too_large, numeric=True),
    Column(label="used", cell=lambda row: units.bytes_(row["used_bytes"]), numeric=True),
    Column(label="available", cell=lambda row: units.bytes_(row["available_bytes"]), numeric=True),
    Column(label="left", cell=lambda row: units.bytes_(row["headroom_bytes"]), numeric=True),
    Column(label="measured", cell=lambda row: text(division(row) or units.UNKNOWN), numeric=True),
    Column(label="global batch", cell=lambda row: _count(row["global_batch"]), numeric=True),
]
