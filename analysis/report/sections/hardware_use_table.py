"""How much of the hardware each size used, and the cost of a million examples there."""

from __future__ import annotations

from markupsafe import Markup

from analysis.database.rows import Row
from analysis.report.html import units
from analysis.report.html.markup import CASE, MOST_ROWS, PLACEMENT, interval_cell, number_cell, text_cell
from analysis.report.html.render import render
from analysis.tables.column import Column, shown
from analysis.wording.machine import flops_unit


def hardware_use(rows: list[Row]) -> Markup:
    """`rows` of queries/hardware_use.sql; empty if nothing is known."""
    if not rows:
        return Markup()
    first = rows[:MOST_ROWS]
    columns = shown(_COLUMNS, first)
    readings = [
        reading for field, reading in _READINGS.items() if any(row[field] is not None for row in first)
    ]
    problems = [
        f"{row['case_name']} {row['placement']}: {row[problem]}"
        for row in first
        for problem in ("mfu_problem", "matmul_problem")
        if row[problem]
    ]
    uncounted = {
        f"{row['case_name']}: FLOPs were not counted: {row['flops_note']}"
        for row in first
        if row["flops_note"]
    }
    return render(
        "sections/hardware_use",
        columns=columns,
        rows=first,
        readings=readings,
        most=MOST_ROWS,
        count=len(rows),
        matmul_sessions=sorted(
            {row["matmul_session_id"] for row in first if row["matmul_share"] is not None}
        ),
        problems=[*problems, *sorted(uncounted)],
    )


def _flops(row: Row) -> str:
    rate = row["flops_per_s_per_device"]
    if rate is None:
        return units.UNKNOWN
    factor, unit = flops_unit(rate)
    return units.with_unit(rate / factor, unit)


def _kilojoules(joules: float | None) -> str:
    return units.with_unit(None if joules is None else joules / 1e3, "kJ")


_READINGS = {
    "flops_per_s_per_device": "FLOP/s of one device: those of the model's forward and backward pass, without "
    "recomputation.",
    "mfu": "MFU: their share of the device's dense peak for the precision.",
    "matmul_share": "Share of matmul: of the highest rate that the suite matmul reached on such a device.",
    "examples_per_j": "Energy: of the GPUs that were used, in measured steps.",
    "gpu_hours_per_million_examples": "Costs are those of a million examples.",
}
"""How to read a column: field that the column needs -> note."""
_COLUMNS = [
    CASE,
    PLACEMENT,
    Column("precision", text_cell("precision")),
    Column("FLOP/s of a device", _flops, number=True, needs=("flops_per_s_per_device",)),
    Column("MFU [95\u00a0%]", interval_cell("mfu", "%", 100), number=True, needs=("mfu",)),
    Column(
        "share of matmul", number_cell("matmul_share", units.percent), number=True, needs=("matmul_share",)
    ),
    Column("power", number_cell("power_w", units.watts), number=True, needs=("power_w",)),
    Column("examples/J [95\u00a0%]", interval_cell("examples_per_j"), number=True, needs=("examples_per_j",)),
    Column(
        "energy / million",
        number_cell("j_per_million_examples", _kilojoules),
        number=True,
        needs=("j_per_million_examples",),
    ),
    Column(
        "GPU-hours / million",
        number_cell("gpu_hours_per_million_examples"),
        number=True,
        needs=("gpu_hours_per_million_examples",),
    ),
]
