"""The laws that were fitted to the scaling of each case, and their consequences."""

from __future__ import annotations

from collections.abc import Callable

from markupsafe import Markup

from analysis.database.rows import Row
from analysis.laws.wording import comparison, is_sure, sentence
from analysis.report.html import units
from analysis.report.html.markup import CASE
from analysis.report.html.render import render
from analysis.tables.column import Column, shown


def laws(rows: list[Row]) -> Markup:
    """`rows` of queries/laws.sql; empty if no case has enough sizes."""
    return render("sections/laws", columns=shown(_COLUMNS, rows), rows=rows) if rows else Markup()


def _says(row: Row) -> Markup:
    return Markup('<div class="says">{}</div>').format(
        " ".join(filter(None, [sentence(row), comparison(row)]))
    )


def _sizes(row: Row) -> str:
    """`5`, `4 on one node`, `4 across nodes`."""
    part = {"all": "", "one node": " on one node", "across nodes": " across nodes"}[row["segment"]]
    return f"{row['points']}{part}"


def _with_interval(name: str) -> Callable[[Row], str]:
    return lambda row: units.with_interval(row[name], row[f"{name}_lo"], row[f"{name}_hi"])


def _p(name: str) -> Callable[[Row], str]:
    """p of the lack of fit."""
    return lambda row: units.p_value(row[name])


def _peak(row: Row) -> str:
    if row["usl_gamma"] is None or row["usl_rejected"]:
        return units.UNKNOWN
    if row["peak_workers"] is None and row["peak_workers_lo"] is None:
        return "none"
    if not is_sure(row):
        low = row["peak_workers_lo"]
        return "undecided" if low is None or low <= row["largest_workers"] else f"above {int(low):,}"
    return units.with_interval(row["peak_workers"], row["peak_workers_lo"], row["peak_workers_hi"])


def _communication(row: Row) -> str:
    """`+3 % at 2, −12 % at 4`."""
    errors = [
        f"{units.signed_percent(error['relative_error'])}\u00a0at\u00a0{error['workers']:,}"
        for error in row["communication_errors"] or []
    ]
    return ", ".join(errors) or units.UNKNOWN


_COLUMNS = [
    CASE,
    Column("its laws say", _says),
    Column("sizes", _sizes, number=True, needs=("points",)),
    Column(
        "serial fraction [95\u00a0%]",
        _with_interval("serial_fraction"),
        number=True,
        needs=("serial_fraction",),
    ),
    Column(
        "its lack of fit,\u00a0p", _p("serial_lack_of_fit_p"), number=True, needs=("serial_lack_of_fit_p",)
    ),
    Column(
        "its largest size left\u00a0out",
        lambda row: units.signed_percent(row["serial_left_out_error"]),
        number=True,
        needs=("serial_left_out_error",),
    ),
    Column("α [95\u00a0%]", _with_interval("usl_alpha"), number=True, needs=("usl_alpha",)),
    Column("β [95\u00a0%]", _with_interval("usl_beta"), number=True, needs=("usl_beta",)),
    Column("peak [95\u00a0%]", _peak, number=True, needs=("usl_gamma",)),
    Column("USL's lack of fit,\u00a0p", _p("usl_lack_of_fit_p"), number=True, needs=("usl_lack_of_fit_p",)),
    Column(
        "USL's largest size left\u00a0out",
        lambda row: units.signed_percent(row["usl_left_out_error"]),
        number=True,
        needs=("usl_left_out_error",),
    ),
    Column("communication's error", _communication, number=True, needs=("communication_errors",)),
]
