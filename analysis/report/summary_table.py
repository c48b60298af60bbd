"""The familiar table of a scaling study, and every run's training summary."""

from __future__ import annotations

from collections.abc import Callable

from analysis.report import units
from analysis.report.markup import Column, Row, details, table, text

_TONES = {
    "superlinear": "good",
    "excellent": "good",
    "good": "good",
    "acceptable": "fair",
    "poor": "bad",
    "retrograde": "bad",
}


def summary(rows: list[Row]) -> str:
    """One row per case and placement: results first, settings last, so that a phone shows what matters."""
    if not rows:
        return ""
    shown = [column for name, column in _OPTIONAL.items() if any(row[name] is not None for row in rows)]
    columns = [*_COLUMNS, *shown, *_SETTING_COLUMNS]
    return table("Summary: one row per case and placement", columns, rows)


def runs(rows: list[Row]) -> str:
    """One row per run, folded away."""
    if not rows:
        return ""
    return details(
        f"All {len(rows)} runs", table("Runs: one row per run, its last attempt", _RUN_COLUMNS, rows)
    )


def verdict(row: Row) -> str:
    """The verdict in words, with a colour that adds to them."""
    if row.get("oversubscribed"):
        return '<span class="label none">oversubscribed</span>'
    if row["verdict"]:
        return f'<span class="label {_TONES[row["verdict"]]}">{text(row["verdict"])}</span>'
    if row.get("is_baseline") and row["scaling"] != "none":
        return '<span class="label none">baseline</span>'
    return units.UNKNOWN


def efficiency(row: Row) -> str:
    interval = (
        "" if row.get("is_baseline") else units.percent_interval(row["efficiency_lo"], row["efficiency_hi"])
    )
    return _with_interval(units.percent(row["efficiency"]), interval)


def _speedup(row: Row) -> str:
    if row["scaling"] == "none":
        return units.UNKNOWN
    return units.with_unit(row["speedup"], "×")


def _with_interval(value: str, interval: str) -> str:
    return f'{value} <span class="interval">{interval}</span>' if interval else value


def _step(row: Row) -> str:
    if row["step_ms_mean"] is None:
        return units.UNKNOWN
    spread = (
        ""
        if row["step_ms_std"] is None
        else f' <span class="interval">± {units.number(row["step_ms_std"], 2)}</span>'
    )
    return f"{units.with_unit(row['step_ms_mean'], 'ms', 4)}{spread}"


def _text(value: object) -> str:
    return units.UNKNOWN if value is None else text(value)


def _column(show: Callable[[float | None], str]) -> Callable[[str, str], Column]:
    return lambda label, name: Column(label=label, cell=lambda row: show(row[name]), numeric=True)


_seconds = _column(units.seconds)
_bytes = _column(units.bytes_)
_percent = _column(units.percent)
_number = _column(lambda value: units.number(value, 4))
_rate = _column(lambda value: units.number(value, 4))
_ms = _column(lambda value: units.with_unit(value, "ms", 4))
_count = _column(lambda value: units.UNKNOWN if value is None else f"{value:,}")

_COLUMNS = [
    Column(label="case", cell=lambda row: text(row["case_name"])),
    Column(label="placement", cell=lambda row: text(row["placement"])),
    Column(label="speedup", cell=_speedup, numeric=True),
    Column(
        label="efficiency [95 %]",
        cell=lambda row: units.UNKNOWN if row["scaling"] == "none" else efficiency(row),
        numeric=True,
    ),
    Column(label="verdict", cell=verdict),
    _rate("examples/s", "throughput"),
    Column(label="step, mean ± std", cell=_step, numeric=True),
    _seconds("time of a run", "elapsed_s"),
]

_OPTIONAL = {
    "time_per_epoch_s": _seconds("time per epoch", "time_per_epoch_s"),
    "peak_memory_allocated_bytes": _bytes("peak memory per rank", "peak_memory_allocated_bytes"),
    "best_val_loss": _number("best validation loss", "best_val_loss"),
    "best_val_accuracy": _percent("best validation accuracy", "best_val_accuracy"),
    "slurm_job_id": Column(label="job", cell=lambda row: _text(row["slurm_job_id"])),
}
"""Shown where any row has them."""

_SETTING_COLUMNS = [
    Column(label="strategy", cell=lambda row: text(row["strategy"])),
    Column(label="scaling", cell=lambda row: text(row["scaling"])),
    _count("ranks", "world_size"),
    _count("nodes", "nodes"),
    _count("batch per rank", "batch_per_rank"),
    _count("repeats ok", "repeats"),
]

_RUN_COLUMNS = [
    Column(label="run", cell=lambda row: text(row["run_id"])),
    Column(label="status", cell=lambda row: text(row["status"])),
    _count("steps", "measured_steps"),
    _ms("mean step", "step_ms_mean"),
    _ms("shortest", "step_ms_min"),
    _ms("longest", "step_ms_max"),
    Column(label="variation (cv)", cell=lambda row: units.percent(row["cv"]), numeric=True),
    _rate("examples/s", "throughput"),
    _number("mean loss", "mean_loss"),
    _number("final loss", "final_loss"),
    _bytes("peak memory", "peak_memory_allocated_bytes"),
    _bytes("mean memory", "mean_memory_allocated_bytes"),
    _seconds("time", "elapsed_s"),
    Column(label="error", cell=lambda row: _text(row["error"])),
]
