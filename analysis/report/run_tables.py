"""What the summary leaves out: sizes, batches and training results of each placement, and every run."""

from __future__ import annotations

from collections.abc import Callable

from analysis.fetched import Row
from analysis.report import units
from analysis.report.markup import Column, details, grouped_table, table, text
from analysis.report.summary_table import by_case, label
from analysis.summary_columns import throughput_unit

MOST_ROWS = 500
"""Of a folded table; the CSV has all."""


def placements(points: list[Row]) -> str:
    """Settings and training results of each placement that was measured, folded away. `points`: queries/summary.sql."""
    measured = [point for point in points if point["throughput"] is not None]
    if not measured:
        return ""
    shown = measured[:MOST_ROWS]
    columns = [
        column for name, column in _PLACEMENT_COLUMNS.items() if any(row[name] is not None for row in shown)
    ]
    caption = "Settings and training results: one row per case and placement"
    return details(
        "Batch sizes, repeats, losses and times of each placement",
        _cut(len(measured), "placements") + grouped_table(caption, columns, by_case(shown)),
        "printed",
    )


def runs(rows: list[Row]) -> str:
    """One row per run, folded away. `rows`: queries/runs.sql."""
    if not rows:
        return ""
    shown = rows
    if len(rows) > MOST_ROWS:  # what went wrong comes first
        shown = sorted(rows, key=lambda row: row["status"] == "ok")[:MOST_ROWS]
    caption = "Runs: one row per run, its last attempt"
    every = _run_columns(throughput_unit(shown))
    columns = [column for name, column in every.items() if any(row[name] is not None for row in shown)]
    return details(
        f"All {len(rows):,} runs" if len(rows) > 1 else "The run",
        _cut(len(rows), "runs, those that are not ok first") + table(caption, columns, shown),
    )


def _cut(count: int, what: str) -> str:
    if count <= MOST_ROWS:
        return ""
    return f'<p class="reading">The first {MOST_ROWS:,} of {count:,} {what}; the CSV has all.</p>'


def _text(name: str) -> Callable[[Row], str]:
    return lambda row: units.UNKNOWN if row[name] is None else text(row[name])


def _status(row: Row) -> str:
    return label({"ok": "good", "skipped": "none"}.get(row["status"], "bad"), row["status"])


def _numbers(show: Callable[[float | None], str]) -> Callable[[str, str], Column]:
    return lambda label, name: Column(label=label, cell=lambda row: show(row[name]), numeric=True)


_seconds = _numbers(units.seconds)
_bytes = _numbers(units.bytes_)
_percent = _numbers(units.percent)
_number = _numbers(units.number)
_ms = _numbers(lambda value: units.with_unit(value, "ms"))
_count = _numbers(lambda value: units.UNKNOWN if value is None else f"{value:,}")

_PLACEMENT_COLUMNS = {
    "placement": Column(label="placement", cell=_text("placement")),
    "world_size": _count("ranks", "world_size"),
    "nodes": _count("nodes", "nodes"),
    "threads": _count("threads per rank", "threads"),
    "batch_per_rank": _count("batch per rank", "batch_per_rank"),
    "global_batch": _count("global batch", "global_batch"),
    "repeats": Column(
        label="repeats ok", cell=lambda row: f"{row['repeats']} of {row['runs']}", numeric=True
    ),
    "elapsed_s": _seconds("time of a run", "elapsed_s"),
    "best_val_loss": _number("best validation loss", "best_val_loss"),
    "best_val_accuracy": _percent("best validation accuracy", "best_val_accuracy"),
    "slurm_job_id": Column(label="Slurm job", cell=_text("slurm_job_id")),
}
"""Shown where any row has them."""


def _run_columns(unit: str) -> dict[str, Column]:
    """By the value that each shows; those without any are left out."""
    return {
        "run_id": Column(label="run", cell=_text("run_id")),
        "status": Column(label="status", cell=_status),
        "measured_steps": _count("measured steps", "measured_steps"),
        "step_ms_mean": _ms("mean step", "step_ms_mean"),
        "step_ms_min": _ms("shortest", "step_ms_min"),
        "step_ms_max": _ms("longest", "step_ms_max"),
        "cv": Column(label="variation (cv)", cell=lambda row: units.percent(row["cv"]), numeric=True),
        "throughput": _number(unit, "throughput"),
        "mean_loss": _number("mean loss", "mean_loss"),
        "final_loss": _number("final loss", "final_loss"),
        "peak_memory_allocated_bytes": _bytes("peak memory", "peak_memory_allocated_bytes"),
        "mean_memory_allocated_bytes": _bytes("mean memory", "mean_memory_allocated_bytes"),
        "elapsed_s": _seconds("time", "elapsed_s"),
    }
