"""The speed of the machine: a row per exchange, and a row per precision of multiplications."""

from __future__ import annotations

from markupsafe import Markup

from analysis.database.rows import Row
from analysis.report.html import units
from analysis.report.html.markup import CASE, count_cell, interval_cell, label, text, text_cell
from analysis.report.html.render import render
from analysis.tables.column import Column
from analysis.wording.machine import flops_unit, shape
from analysis.wording.plain_text import bytes_text

MOST_ROWS = 60
"""Rows of a table; the CSV has all."""


def exchanges(rows: list[Row]) -> Markup:
    """`rows` of queries/exchanges.sql; empty without rows."""
    return render("sections/exchanges", columns=_EXCHANGES, rows=rows, most=MOST_ROWS) if rows else Markup()


def multiplications(rows: list[Row]) -> Markup:
    """`rows` of queries/multiplications.sql; empty without rows."""
    if not rows:
        return Markup()
    return render("sections/multiplications", columns=_MULTIPLICATIONS, rows=rows, most=MOST_ROWS)


def _placement(row: Row) -> Markup:
    shared = Markup(" {}").format(label("oversubscribed", "none")) if row["oversubscribed"] else ""
    return text(row["placement"]) + shared


def _flops(row: Row) -> str:
    factor, unit = flops_unit(row["peak_flops_per_s"])
    ends = (row["peak_flops_per_s_lo"], row["peak_flops_per_s_hi"])
    return units.with_interval(row["peak_flops_per_s"], *ends, unit, 1 / factor)


_EXCHANGES = [
    Column("operation", text_cell("op")),
    CASE,
    Column("placement", _placement),
    Column("repeats", count_cell("repeats"), number=True),
    Column("bus bandwidth, GB/s [95\u00a0%]", interval_cell("peak_bus_gbps"), number=True),
    Column("at", lambda row: bytes_text(row["peak_message_bytes"]), number=True),
    Column("latency, µs [95\u00a0%]", interval_cell("smallest_time_us"), number=True),
    Column("of", lambda row: bytes_text(row["smallest_message_bytes"]), number=True),
]
_MULTIPLICATIONS = [
    CASE,
    Column("placement", _placement),
    Column("device", lambda row: text(row["device_name"] or units.UNKNOWN)),
    Column("precision", text_cell("precision")),
    Column("threads", count_cell("threads"), number=True),
    Column("repeats", count_cell("repeats"), number=True),
    Column("of a rank [95\u00a0%]", _flops, number=True),
    Column("at m × n × k", lambda row: text(shape(row)), number=True),
]
