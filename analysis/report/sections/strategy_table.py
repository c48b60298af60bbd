"""The recommended strategy at each size, and the reason: one row per placement and pair of cases."""

from __future__ import annotations

from markupsafe import Markup

from analysis.database.rows import Row
from analysis.report.html import units
from analysis.report.html.markup import MOST_ROWS, PLACEMENT, interval_cell, label, text
from analysis.report.html.render import render
from analysis.tables.column import Column


def strategies(rows: list[Row]) -> Markup:
    """`rows` of queries/strategies.sql; empty if no pair ran on both sides."""
    run = [row for row in rows if not row["only_skipped"]]
    if not run:
        return Markup()
    skipped = len(rows) - len(run)
    return render("sections/strategies", columns=_COLUMNS, rows=run, most=MOST_ROWS, skipped=skipped)


def _memory(row: Row) -> str:
    return f"{units.bytes_(row['reference_peak_memory_bytes'])}, {units.bytes_(row['peak_memory_bytes'])}"


def _recommendation(row: Row) -> Markup:
    return label(row["recommendation"], "none" if row["recommendation"] == "undecided" else "good")


_COLUMNS = [
    Column("cases", lambda row: text(row["reference_case"]) + ", " + text(row["case_name"])),
    PLACEMENT,
    Column("recommended", _recommendation),
    # The reason begins with the recommendation, but that has its own column.
    Column("because", lambda row: text(row["reason"].partition(": ")[2])),
    Column("time [95\u00a0%]", interval_cell("time_ratio", "×", apart_from=1), number=True),
    Column("memory of a rank", _memory, number=True),
]
