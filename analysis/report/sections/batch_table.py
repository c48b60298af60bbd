"""The largest micro-batch that fits: one row per case and placement at which find_batch searched for it."""

from __future__ import annotations

from markupsafe import Markup

from analysis.database.rows import Row
from analysis.report.html import units
from analysis.report.html.markup import CASE, MOST_ROWS, PLACEMENT, count_cell, number_cell, text
from analysis.report.html.render import render
from analysis.tables.column import Column
from analysis.wording.batch_search import division


def batches(rows: list[Row]) -> Markup:
    """`rows` of queries/batches.sql; empty without rows."""
    return render("sections/batches", columns=_COLUMNS, rows=rows, most=MOST_ROWS) if rows else Markup()


def _too_large(row: Row) -> Markup:
    if row["too_large_micro_batch"] is None:
        return text("none tried")
    return text(f"{row['too_large_micro_batch']:,} ({row['too_large_status']})")


_COLUMNS = [
    CASE,
    PLACEMENT,
    Column("fits", count_cell("largest_micro_batch"), number=True),
    Column("does not fit", _too_large, number=True),
    Column("used", number_cell("used_bytes", units.bytes_), number=True),
    Column("available", number_cell("available_bytes", units.bytes_), number=True),
    Column("left", number_cell("headroom_bytes", units.bytes_), number=True),
    Column("measured", lambda row: text(division(row) or units.UNKNOWN), number=True),
    Column("global batch", count_cell("global_batch"), number=True),
]
