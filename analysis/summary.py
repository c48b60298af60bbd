"""`bench summary`: a session's tables, lines about notable results, and the headline."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from analysis.database import connections
from analysis.database.rows import Row, session_rows
from analysis.diagnosis import findings
from analysis.laws.wording import peaks
from analysis.sql import choose_session
from analysis.tables import machine as machine_tables
from analysis.tables import terminal
from analysis.tables.column import Column, number_of, text_of
from analysis.tables.scaling import scaling_table
from analysis.tables.scaling_brief import brief_tables
from analysis.tables.table import Table
from analysis.tables.target import target_table
from analysis.wording import (
    command_scaling,
    lost_efficiency,
    machine,
    pauses,
    recorder_overhead,
    target,
    unlike_runs,
)
from analysis.wording.batch_search import limits
from analysis.wording.caveats import (
    busy,
    imported_from,
    of_rounds,
    outside_rounds,
    ranges_of_rounds,
    rounded_times,
    slow_runs,
    still_too_wide,
    workers_of_baselines,
)
from analysis.wording.failures import reasons
from analysis.wording.headline import headline
from analysis.wording.main_loss import main_loss, main_loss_of
from analysis.wording.other_answers import other_answers
from analysis.wording.plain_text import number, printable
from analysis.wording.sizes import largest


def show(
    results: Path,
    session: str | None = None,
    *,
    tag: str | None = None,
    wide: bool = False,
    every_run: bool = False,
    program: str = "bench",
    out: Console | None = None,
) -> None:
    """Print a session [default: the newest]. `wide` shows every column of the scaling table. `every_run` adds a table
    of all runs, and tables of all measured message sizes and shapes. `program` starts the commands that it advises.

    Raises AnalysisError if no session has that id or tag."""
    out = out or terminal.console()
    with connections.reader(results) as connection:
        session_id = choose_session.choose(connection, session, tag)

        def rows(view: str) -> list[Row]:
            return session_rows(connection, view, session_id)

        session_row = choose_session.head(connection, session_id)
        points, coverage, runs = rows("scaling"), rows("coverage"), rows("run_summary")
        utilisation, perturbation = rows("utilisation"), rows("perturbation")
        other_networks = rows("what_if")
        batches, laws, to_target = rows("batch_limits"), rows("scaling_law"), rows("time_to_target")
        losses = rows("efficiency_loss")
        by_group = rows("communication_by_group")
        diagnosed = findings.read(connection, session_id)
        differing = unlike_runs.read(connection, session_id)
        of_machine = machine.read(connection, session_id)
        sizes = machine_tables.sizes(machine_tables.read_sizes(connection, session_id))

    tables = [[table] for table in machine_tables.peaks(of_machine)]
    if not of_machine or any(point["throughput"] is not None for point in points):
        whole = scaling_table(points, coverage, utilisation)
        tables.insert(0, [whole] if wide else list(brief_tables(points, coverage)))
    for place, alternatives in enumerate(tables):
        terminal.show(out, session_id if place == 0 else "", *alternatives)
    if to_target:
        terminal.show(out, f"To {target.target(to_target)}", target_table(to_target))
    if every_run:
        for title, table in sizes.items():
            terminal.show(out, title, table)
        if trained := [run for run in runs if run["measured_steps"]]:
            terminal.show(out, "Runs", _runs_table(trained))
    for line in [
        *([imported_from(session_row)] if session_row["imported"] is not None else []),
        *reasons(coverage),
        *command_scaling.lines(points, runs),
        *command_scaling.short_runs(runs),
        *pauses.lines(runs),
        *unlike_runs.sentences(differing),
        *workers_of_baselines(points),
        *outside_rounds(points),
        *rounded_times(points),
        *slow_runs(points),
        *of_rounds(points),
        *ranges_of_rounds(points),
        *still_too_wide(points),
        *target.notes(to_target),
        *limits(batches),
        *compiling(runs),
        *lost_efficiency.lines(points, losses, by_group),
        *findings.lines(diagnosed, points, results, printable, program, out.width),
        *other_answers(to_target, diagnosed, other_networks, printable, printable),
        *recorder_overhead.lines(perturbation),
        *peaks(laws),
    ]:
        terminal.say(out, line)
    if warning := busy(diagnosed):
        terminal.say(out, printable(warning), "yellow")
    lost = main_loss if len(largest(points)) == 1 else main_loss_of
    closing = [
        target.of_throughput(headline(points, machine=machine.sentence(of_machine)), to_target),
        lost(points, lost_efficiency.explained(losses)),
    ]
    terminal.say(out, " ".join(filter(None, closing)), "bold")


def newest_answer(results: Path, session: str | None, tag: str | None = None) -> dict[str, object]:
    """The id of a session [default: the newest] and its `answer`. Raises AnalysisError if there is none."""
    with connections.reader(results) as connection:
        session_id = choose_session.choose(connection, session, tag)
    return {"session_id": session_id, **answer(results, session_id)}


def answer(results: Path, session_id: str) -> dict[str, list[Row]]:
    """View -> its rows of the session, in the order of the plan: scaling, measurements of the machine, time to a
    target, lost efficiency, findings, other networks, and the cost of measuring. All values fit JSON."""
    with connections.reader(results) as connection:
        scaling = {"scaling": session_rows(connection, "scaling", session_id)}
        to_target = session_rows(connection, "time_to_target", session_id)
        targets = {"time_to_target": to_target} if to_target else {}
        losses = {"efficiency_loss": session_rows(connection, "efficiency_loss", session_id)}
        diagnosis = {"diagnosis": findings.read(connection, session_id)}
        other_networks = session_rows(connection, "what_if", session_id)
        networks = {"what_if": other_networks} if other_networks else {}
        perturbed = {"perturbation": session_rows(connection, "perturbation", session_id)}
        return (
            scaling
            | machine_tables.read_sizes(connection, session_id)
            | targets
            | losses
            | diagnosis
            | networks
            | perturbed
        )


def compiling(runs: list[Row]) -> Iterator[str]:
    """A sentence on the longest time that torch.compile took, if any run compiled. `runs` are rows of run_summary."""
    compiled = [run for run in runs if run["compile_s"] is not None]
    if compiled:
        late = any(run["measured_recompiles"] for run in compiled)
        when = "partly among measured steps" if late else "outside the measured steps"
        longest = max(run["compile_s"] for run in compiled)
        yield f"compiling took up to {number(longest, 3)} s of a run (`compile_s`), {when}"


def _runs_table(runs: list[Row]) -> Table:
    return Table(
        rows=runs,
        keys=[Column("run", text_of("run_id"), untrusted=True)],
        values=[
            Column("steps", text_of("measured_steps"), number=True),
            Column("step ms", number_of("step_ms_mean"), number=True),
            Column("min", number_of("step_ms_min"), number=True),
            Column("max", number_of("step_ms_max"), number=True),
            Column("examples/s", number_of("throughput"), number=True),
            Column("mean loss", number_of("mean_loss"), number=True),
            Column("final loss", number_of("final_loss"), number=True),
            Column("peak MiB", number_of("peak_memory_allocated_bytes", factor=2**-20), number=True),
            Column("mean MiB", number_of("mean_memory_allocated_bytes", factor=2**-20), number=True),
        ],
    )
