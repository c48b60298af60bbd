"""How much of the hardware each size used, and what a million examples cost there."""

from __future__ import annotations

from analysis.fetched import Row
from analysis.report import units
from analysis.report.markup import Column, first_rows, table, text

MOST_ROWS = 40
"""Of the table; the CSV has all."""


def hardware_use(rows: list[Row]) -> str:
    """`rows`: queries/hardware_use.sql. Nothing where nothing is known."""
    if not rows:
        return ""
    more = first_rows(MOST_ROWS, len(rows))
    shown = rows[:MOST_ROWS]
    columns = [
        (column, reading) for column, name, reading in _COLUMNS if any(row[name] is not None for row in shown)
    ]
    readings = " ".join(reading for _column, reading in columns if reading)
    caption = "Use of the hardware: one row per case and placement"
    return (
        f'<p class="reading">{readings}{more}</p>'
        + table(caption, [*_KEYS, *(column for column, _reading in columns)], shown)
        + _sources(shown)
        + _problems(shown)
    )


def _sources(rows: list[Row]) -> str:
    """Of the shares of what matmul achieved."""
    sessions = sorted({row["matmul_session_id"] for row in rows if row["matmul_share"] is not None})
    return f'<p class="reading">matmul: {text(", ".join(sessions))}</p>' if sessions else ""


def _problems(rows: list[Row]) -> str:
    """What is an error and not a result, and what was not counted; each said once."""
    said = [
        f"{row['case_name']} {row['placement']}: {row[name]}"
        for row in rows
        for name in ("mfu_problem", "matmul_problem")
        if row[name]
    ]
    uncounted = {
        f"{row['case_name']}: FLOPs were not counted: {row['flops_note']}"
        for row in rows
        if row["flops_note"]
    }
    return "".join(f'<p class="reading">{text(line)}.</p>' for line in [*said, *sorted(uncounted)])


def _flops(row: Row) -> str:
    rate = row["flops_per_s_per_device"]
    if rate is None:
        return units.UNKNOWN
    factor, unit = next(
        (one for one in ((1e12, "TFLOP/s"), (1e9, "GFLOP/s")) if rate >= one[0]), (1e6, "MFLOP/s")
    )
    return units.with_unit(rate / factor, unit)


def _mfu(row: Row) -> str:
    return units.with_interval(row["mfu"], row["mfu_lo"], row["mfu_hi"], "%", 100)


def _examples_per_j(row: Row) -> str:
    return units.with_interval(row["examples_per_j"], row["examples_per_j_lo"], row["examples_per_j_hi"])


_KEYS = [
    Column(label="case", cell=lambda row: text(row["case_name"])),
    Column(label="placement", cell=lambda row: text(row["placement"])),
    Column(label="precision", cell=lambda row: text(row["precision"])),
]
_COLUMNS = [
    (
        Column(label="FLOP/s of a device", cell=_flops, numeric=True),
        "flops_per_s_per_device",
        "FLOP/s of one device: those of the model's forward and backward pass, without what is computed twice.",
    ),
    (
        Column(label="MFU [95\u00a0%]", cell=_mfu, numeric=True),
        "mfu",
        "MFU: their share of the device's dense peak for the precision.",
    ),
    (
        Column(label="share of matmul", cell=lambda row: units.percent(row["matmul_share"]), numeric=True),
        "matmul_share",
        "Share of matmul: of the largest rate that the suite matmul achieved on such a device.",
    ),
    (
        Column(label="power", cell=lambda row: units.with_unit(row["power_w"], "W"), numeric=True),
        "power_w",
        "",
    ),
    (
        Column(label="examples/J [95\u00a0%]", cell=_examples_per_j, numeric=True),
        "examples_per_j",
        "Energy: of the GPUs that were used, in measured steps.",
    ),
    (
        Column(
            label="energy / million", cell=lambda row: units.with_unit(_kilojoules(row), "kJ"), numeric=True
        ),
        "j_per_million_examples",
        "",
    ),
    (
        Column(
            label="GPU-hours / million",
            cell=lambda row: units.number(row["gpu_hours_per_million_examples"]),
            numeric=True,
        ),
        "gpu_hours_per_million_examples",
        "Costs are of a million examples.",
    ),
]
"""Each shown where a row has its value, with the sentence that says how to read it."""


def _kilojoules(row: Row) -> float | None:
    joules: float | None = row["j_per_million_examples"]
    return None if joules is None else joules / 1e3
