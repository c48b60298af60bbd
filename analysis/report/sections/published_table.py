"""Next to published curves: what differs from each of them."""

from __future__ import annotations

from markupsafe import Markup

from analysis.database.rows import Row
from analysis.report.html import units
from analysis.report.html.markup import text
from analysis.report.html.render import render
from analysis.tables.column import Column


def published(rows: list[Row]) -> Markup:
    """`rows` of queries/published.sql; empty without any."""
    if not rows:
        return Markup()
    differ = sum(bool(row["differences"]) or not row["is_same_unit"] for row in rows)
    return render("sections/published", columns=_COLUMNS, rows=rows, differ=differ)


def _sizes(row: Row) -> str:
    return f"{row['least_workers']:,} to {row['most_workers']:,}"


def _differences(row: Row) -> Markup:
    if row["differences"]:
        return text(row["differences"])
    return text("nothing that is compared" if row["is_same_unit"] else f"unit {row['throughput_unit']}")


_COLUMNS = [
    Column("curve", lambda row: text(row["source_name"]) + ": " + text(row["case_name"])),
    Column("GPUs", _sizes, number=True),
    Column("efficiency at the largest", lambda row: units.percent(row["efficiency"]), number=True),
    Column("nearest case", lambda row: text(row["nearest_case"])),
    Column("differs in", _differences),
]
