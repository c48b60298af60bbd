"""The law of each case's scaling, its consequences, and the error of what communication predicts."""

from __future__ import annotations

from markupsafe import Markup

from analysis.database.rows import Row
from analysis.laws.wording import sentence, weights
from analysis.report.html import units
from analysis.report.html.markup import CASE
from analysis.report.html.render import render
from analysis.tables.column import Column, shown


def laws(rows: list[Row]) -> Markup:
    """`rows` of queries/laws.sql; empty if no case has enough sizes."""
    return render("sections/laws", columns=shown(_COLUMNS, rows), rows=rows) if rows else Markup()


def _says(row: Row) -> Markup:
    return Markup('<div class="says">{}</div>').format(sentence(row))


def _sizes(row: Row) -> str:
    """`5`, `4 on one node`, `4 across nodes`."""
    part = {"all": "", "one node": " on one node", "across nodes": " across nodes"}[row["segment"]]
    return f"{row['points']}{part}"


def _communication(row: Row) -> str:
    """`+3 % at 2, −12 % at 4`."""
    errors = [
        f"{units.signed_percent(error['relative_error'])}\u00a0at\u00a0{error['workers']:,}"
        for error in row["communication_errors"] or []
    ]
    return ", ".join(errors) or units.UNKNOWN


_COLUMNS = [
    CASE,
    Column("forms", lambda row: weights(row).replace(" %", "\u00a0%") or units.UNKNOWN, needs=("best_form",)),
    Column("the best one says", _says),
    Column("sizes", _sizes, number=True, needs=("points",)),
    Column(
        "largest size left\u00a0out",
        lambda row: units.signed_percent(row["left_out_error"]),
        number=True,
        needs=("left_out_error",),
    ),
    Column("communication's error", _communication, number=True, needs=("communication_errors",)),
]
