"""The laws that were fitted to the scaling of each case, and their consequences."""

from __future__ import annotations

from collections.abc import Callable

from markupsafe import Markup

from analysis.database.rows import Row
from analysis.laws.wording import closer_law, is_sure, sentence
from analysis.report.html import units
from analysis.report.html.markup import CASE
from analysis.report.html.render import render
from analysis.tables.column import Column, shown

_ROUNDING = 1e-9
"""A standard error below this share of its coefficient is only rounding."""


def laws(rows: list[Row]) -> Markup:
    """`rows` of queries/laws.sql; empty if no case has enough sizes."""
    return render("sections/laws", columns=shown(_COLUMNS, rows), rows=rows) if rows else Markup()


def _says(row: Row) -> Markup:
    return Markup('<div class="says">{}</div>').format(
        " ".join(filter(None, [sentence(row), closer_law(row)]))
    )


def _with_error(name: str) -> Callable[[Row], str]:
    """`0.040 ± 0.002`."""

    def cell(row: Row) -> str:
        value, error = row[name], row[f"{name}_se"]
        is_exact = value is not None and error is not None and error <= _ROUNDING * value
        return units.with_spread(value, 0.0 if is_exact else error, "").replace("\u00a0 ", " ")

    return cell


def _r2(name: str) -> Callable[[Row], str]:
    return lambda row: units.UNKNOWN if row[name] is None else f"{row[name]:.4f}"


def _peak(row: Row) -> str:
    if row["usl_gamma"] is None:
        return units.UNKNOWN
    if row["peak_workers"] is None:
        return "none"
    if not is_sure(row):
        return "undecided"
    return units.with_interval(row["peak_workers"], row["peak_workers_lo"], row["peak_workers_hi"])


def _communication(row: Row) -> str:
    """`+3 % at 2, −12 % at 4`."""
    errors = [
        f"{100 * error['relative_error']:+.0f}\u00a0%\u00a0at\u00a0{error['workers']:,}".replace(
            "-", "\u2212"
        )
        for error in row["communication_errors"] or []
    ]
    return ", ".join(errors) or units.UNKNOWN


_COLUMNS = [
    CASE,
    Column("its laws say", _says),
    Column("sizes", lambda row: str(row["points"]), number=True, needs=("points",)),
    Column(
        "serial fraction ±\u00a0se", _with_error("serial_fraction"), number=True, needs=("serial_fraction",)
    ),
    Column("its\u00a0r²", _r2("serial_r2"), number=True, needs=("serial_r2",)),
    Column("α ±\u00a0se", _with_error("usl_alpha"), number=True, needs=("usl_alpha",)),
    Column("β ±\u00a0se", _with_error("usl_beta"), number=True, needs=("usl_beta",)),
    Column("peak [95\u00a0%]", _peak, number=True, needs=("usl_gamma",)),
    Column("USL\u00a0r²", _r2("r2"), number=True, needs=("r2",)),
    Column("communication's error", _communication, number=True, needs=("communication_errors",)),
]
