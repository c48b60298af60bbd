"""Details that the summary omits: batches and training results of each placement, and every run."""

from __future__ import annotations

from markupsafe import Markup

from analysis.database.rows import Row
from analysis.report.html import units
from analysis.report.html.markup import count_cell, label, number_cell, text_cell
from analysis.report.html.render import render
from analysis.report.sections.summary_table import by_case
from analysis.tables.column import Column, shown
from analysis.tables.scaling import throughput_unit
from analysis.wording.metric import metric_of

MOST_ROWS = 500
"""Rows of a folded table; the CSV has all."""


def placements(points: list[Row]) -> Markup:
    """Settings and training results of each measured placement, folded. `points` are from queries/summary.sql."""
    measured = [point for point in points if point["throughput"] is not None]
    if not measured:
        return Markup()
    first = measured[:MOST_ROWS]
    return render(
        "sections/placements",
        columns=shown(_placement_columns(first), first),
        groups=by_case(first),
        most=MOST_ROWS,
        count=len(measured),
    )


def runs(rows: list[Row]) -> Markup:
    """One row per run, folded. `rows` are from queries/runs.sql."""
    if not rows:
        return Markup()
    first = rows
    if len(rows) > MOST_ROWS:  # failures first
        first = sorted(rows, key=lambda row: row["status"] == "ok")[:MOST_ROWS]
    columns = shown(_run_columns(throughput_unit(first)), first)
    return render("sections/runs", columns=columns, rows=first, most=MOST_ROWS, count=len(rows))


def _status(row: Row) -> Markup:
    return label(row["status"], {"ok": "good", "skipped": "none"}.get(row["status"], "bad"))


def _placement_columns(rows: list[Row]) -> list[Column]:
    metric = metric_of(row["metric"] for row in rows if row["best_val_accuracy_mean"] is not None)
    return [
        Column("placement", text_cell("placement")),
        Column("ranks", count_cell("world_size"), number=True, needs=("world_size",)),
        Column("nodes", count_cell("nodes"), number=True, needs=("nodes",)),
        Column("threads per rank", count_cell("threads"), number=True, needs=("threads",)),
        Column("batch per rank", count_cell("batch_per_rank"), number=True, needs=("batch_per_rank",)),
        Column("global batch", count_cell("global_batch"), number=True, needs=("global_batch",)),
        Column(
            "repeats ok",
            lambda row: f"{row['repeats']} of {row['runs']}",
            number=True,
            needs=("repeats",),
        ),
        Column("time of a run", number_cell("elapsed_s", units.seconds), number=True, needs=("elapsed_s",)),
        Column(
            "best validation loss",
            number_cell("best_val_loss_mean"),
            number=True,
            needs=("best_val_loss_mean",),
        ),
        Column(
            f"best validation {metric}",
            number_cell("best_val_accuracy_mean", units.percent),
            number=True,
            needs=("best_val_accuracy_mean",),
        ),
        Column("Slurm job", text_cell("slurm_job_id"), needs=("slurm_job_id",)),
    ]


def _run_columns(unit: str) -> list[Column]:
    peak, mean = "peak_memory_allocated_bytes", "mean_memory_allocated_bytes"
    return [
        Column("run", text_cell("run_id")),
        Column("status", _status),
        Column("measured steps", count_cell("measured_steps"), number=True, needs=("measured_steps",)),
        Column(
            "mean step", number_cell("step_ms_mean", units.milliseconds), number=True, needs=("step_ms_mean",)
        ),
        Column(
            "shortest", number_cell("step_ms_min", units.milliseconds), number=True, needs=("step_ms_min",)
        ),
        Column(
            "longest", number_cell("step_ms_max", units.milliseconds), number=True, needs=("step_ms_max",)
        ),
        Column("variation (cv)", number_cell("cv", units.percent), number=True, needs=("cv",)),
        Column(unit, number_cell("throughput"), number=True, needs=("throughput",)),
        Column("mean loss", number_cell("mean_loss"), number=True, needs=("mean_loss",)),
        Column("final loss", number_cell("final_loss"), number=True, needs=("final_loss",)),
        Column("peak memory", number_cell(peak, units.bytes_), number=True, needs=(peak,)),
        Column("mean memory", number_cell(mean, units.bytes_), number=True, needs=(mean,)),
        Column("time", number_cell("elapsed_s", units.seconds), number=True, needs=("elapsed_s",)),
    ]
