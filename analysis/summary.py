"""What a session found, on a terminal: the scaling table, every run's training summary, one closing sentence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.text import Text

from analysis import database, findings, lost, machine, machine_tables, perturbation, sessions, tables
from analysis.batch_words import limits
from analysis.fetched import Row
from analysis.laws.words import peaks
from analysis.plain import cell, number
from analysis.provenance import imported_from
from analysis.sentence import closing_sentence
from analysis.session_rows import session_rows
from analysis.summary_columns import column, key_columns, number_of, reasons, text_of, value_columns
from analysis.why import because
from analysis.widths import still_too_wide


def show(
    results: Path,
    session: str | None = None,
    *,
    tag: str | None = None,
    every_run: bool = True,
    program: str = "bench",
    out: Console | None = None,
) -> None:
    """Print a session, by default the newest; `every_run` adds a line per run to the scaling table. `program` is how
    the commands that it advises begin.

    Raises AnalysisError where there is none of that name or tag."""
    out = out or tables.console()
    with database.reader(results) as connection:
        session_id = sessions.choose(connection, session, tag)
        points, coverage, runs = (
            session_rows(connection, view, session_id) for view in ("scaling", "coverage", "run_summary")
        )
        laws = session_rows(connection, "scaling_law", session_id)
        session_row = sessions.head(connection, session_id)
        batches = session_rows(connection, "batch_limits", session_id)
        found = machine.read(connection, session_id)
        used = session_rows(connection, "utilisation", session_id)
        sizes = machine_tables.read(connection, session_id)
        losses = lost.explained(session_rows(connection, "efficiency_loss", session_id))
        diagnosed = findings.read(connection, session_id)
        perturbed = session_rows(connection, "perturbation", session_id)
    _show_points(out, session_id, points, value_columns(points, coverage, used), found)
    if every_run:
        machine_tables.show(out, sizes)
        _show_runs(out, [run for run in runs if run["measured_steps"]])
    if session_row["imported"] is not None:
        out.print(Text(cell(imported_from(session_row))))
    for reason in reasons(coverage):
        out.print(Text(reason))
    for line in still_too_wide(points, cell):
        out.print(Text(line))
    for limit in limits(batches, cell):
        out.print(Text(limit))
    for line in compiling(runs):
        out.print(Text(line))
    for line in lost.lines(points, losses, cell):
        out.print(Text(line))
    for line in findings.lines(diagnosed, points, results, cell, program):
        out.print(Text(line))
    for line in perturbation.lines(perturbed, cell):
        out.print(Text(line))
    for peak in peaks(laws, cell):
        out.print(Text(peak))
    closing = [
        closing_sentence(points, cell, machine.sentence(found, cell)),
        because(points, losses, [], cell),
    ]
    out.print(Text(" ".join(filter(None, closing)), style="bold"))


def _show_points(
    out: Console, title: str, points: list[Row], values: list[tables.Column], found: machine.Machine
) -> None:
    """The scaling table with these values; where nothing was trained, what the machine can do."""
    if not found or any(point["throughput"] is not None for point in points):
        tables.show(out, title, key_columns(points), values)
        title = ""
    shown = [machine.exchange_columns(found.exchanges)] if found.exchanges else []
    shown += [machine.multiplication_columns(found.multiplications)] if found.multiplications else []
    for keys, others in shown:
        tables.show(out, title, keys, others)
        title = ""


def answer(results: Path, session_id: str) -> dict[str, list[Row]]:
    """A session's rows in the order of its plan, by view: `scaling`, what was measured of the machine, what was
    found, and what measuring cost; values that JSON knows only."""
    with database.reader(results) as connection:
        scaling = {"scaling": session_rows(connection, "scaling", session_id)}
        losses = {"efficiency_loss": session_rows(connection, "efficiency_loss", session_id)}
        diagnosis = {"diagnosis": findings.read(connection, session_id)}
        perturbed = {"perturbation": session_rows(connection, "perturbation", session_id)}
        return scaling | machine_tables.read(connection, session_id) | losses | diagnosis | perturbed


def compiling(runs: list[Row]) -> Iterator[str]:
    """How long torch.compile took at most; nothing where no run compiled. `runs`: rows of run_summary."""
    compiled = [run for run in runs if run["compile_s"] is not None]
    if compiled:
        late = any(run["measured_recompiles"] for run in compiled)
        when = "partly among measured steps" if late else "outside the measured steps"
        longest = max(run["compile_s"] for run in compiled)
        yield f"compiling took up to {number(longest, 3)} s of a run (`compile_s`), {when}"


def _show_runs(out: Console, runs: list[Row]) -> None:
    if not runs:
        return
    columns = [
        column(runs, "steps", text_of("measured_steps")),
        column(runs, "step ms", number_of("step_ms_mean")),
        column(runs, "min", number_of("step_ms_min")),
        column(runs, "max", number_of("step_ms_max")),
        column(runs, "examples/s", number_of("throughput")),
        column(runs, "mean loss", number_of("mean_loss")),
        column(runs, "final loss", number_of("final_loss")),
        column(runs, "peak MiB", number_of("peak_memory_allocated_bytes", factor=2**-20)),
        column(runs, "mean MiB", number_of("mean_memory_allocated_bytes", factor=2**-20)),
    ]
    tables.show(out, "Runs", [column(runs, "run", text_of("run_id"), number=False)], columns)
