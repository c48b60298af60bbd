"""The end of `bench suite` and `bench run`: load the rows, print the scaling table, one sentence, where the results
are, and the command that opens the report."""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import signal
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bench.cli._output import say
from bench.common import unreadable_image
from bench.common.errors import ToldToStop
from bench.common.process import is_bench
from bench.common.terminal import tell

if TYPE_CHECKING:
    from bench.session.result import SessionResult


def prepare() -> None:
    """Import now what the end of a stopped session needs: its container's image may be gone by then."""
    import analysis.wording.plain_text  # noqa: F401 - used by bench/cli/_output.py

    unreadable_image.read_pages()


def check_custom_rules(*, load: bool) -> None:
    """Raise AnalysisError, before anything is measured, if $BENCH_RULES would keep the session out of the database."""
    from bench.common.paths import rules_folder

    folder = rules_folder()
    if load and folder is not None and importlib.util.find_spec("duckdb") is not None:
        from analysis.diagnosis import custom_rules

        custom_rules.check(folder)


def finish(result: SessionResult, *, load: bool, as_json: bool) -> int:
    """Print the end of a session; returns the exit code."""
    if result.stopped_by is not None:
        # the image that holds the rest of the program may be going away: nothing more is imported
        if result.stopped_by != 128 + signal.SIGHUP:
            tell(_stopped(result))
        return result.stopped_by
    rows: dict[str, Any] = {}
    show = partial(_add_rows, rows, result.folder) if as_json else partial(_show, result.folder)
    try:
        with unreadable_image.awaiting_its_signal():
            is_loaded, is_complete = _load_and_show(result.folder, load=load, show=show, quiet=as_json)
    except (ToldToStop, KeyboardInterrupt) as error:
        stop = error if isinstance(error, ToldToStop) else ToldToStop(signal.SIGINT)
        if not stop.terminal_gone:
            tell(_stopped(replace(result, stopped_reason=str(stop))))
        return stop.exit_code
    code = max(result.exit_code, 0 if is_complete else 1)
    if as_json:
        answer = {
            "session_id": result.session_id,
            "results": str(result.folder),
            "statuses": result.statuses,
            "failed_probes": result.failed_probes,
            "exit_code": code,
        }
        click.echo(json.dumps(answer | rows, indent=1))
        return code
    for lost in result.lost:
        tell(f"bench: {lost}")
    if result.left_for_time or result.lost:
        left = (
            f"{result.left_for_time} runs did not fit into the allocation: " if result.left_for_time else ""
        )
        tell(f"{left}`{result.resume_command}` runs what is left")
    if number := result.left_for_command:
        tell(
            f"{number} run{'s' * (number != 1)} of the command {'were' if number != 1 else 'was'} not started, because "
            f"each would end as its first run did: correct the command and give it again. If you corrected the script "
            f"instead, `{result.resume_command}` runs what is left"
        )
    _say_where(result.folder, is_loaded=is_loaded)
    return code


def show_loaded(session: Path, *, load: bool) -> int:
    """Print the end of `bench import`, which ran nothing; returns the exit code."""
    is_loaded, is_complete = _load_and_show(session, load=load, show=partial(_show, session), quiet=False)
    _say_where(session, is_loaded=is_loaded)
    return 0 if is_complete else 1


def _say_where(session: Path, *, is_loaded: bool) -> None:
    """Print where the results are and, if a database has them, the commands that compare two variants of a case, and
    that write and open the report."""
    click.echo(f"results: {session}")
    if is_loaded and importlib.util.find_spec("altair") is not None:
        from bench.common.paths import results_folder
        from bench.machine.container import apptainer_image
        from bench.session.result import BENCH

        image = apptainer_image()  # outside of the container, where the line is pasted, there is no bench
        program = BENCH if image is None else shlex.join(["apptainer", "run", image])
        is_default = results_folder().absolute() == session.parent.absolute()
        place = [] if is_default else ["--results", str(session.parent)]
        if both := _two_variants(session):
            sides = [f"{session.name}:{case}" for case in both]
            say(f"compare: {program} {shlex.join(['compare', *sides, *place])}")
        say(f"report: {program} {shlex.join(['report', session.name, '--open', *place])}")


def _two_variants(session: Path) -> list[str]:
    """The first two cases that differ in the values of --vary or of a matrix alone; empty if there are none."""
    from analysis.database import connections
    from analysis.database.rows import session_rows

    with connections.waiting_for(is_bench), connections.reader(session.parent) as connection:
        names = [row["case_name"] for row in session_rows(connection, "coverage", session.name)]
    cases: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        cases.setdefault(name.partition("~")[0], []).append(name)
    return next((variants[:2] for variants in cases.values() if len(variants) > 1), [])


def _load_and_show(session: Path, *, load: bool, show: Callable[[], None], quiet: bool) -> tuple[bool, bool]:
    """Load and show the session if wanted; returns whether it was loaded, and whether nothing of it was left out.

    If the database cannot be used, as when someone else has it open, the message says that the results are written."""
    if not load or importlib.util.find_spec("duckdb") is None:
        return False, True
    from analysis.errors import AnalysisError
    from bench.measure.raw_rows import finalise

    try:
        from analysis.database.connections import waiting_for
        from analysis.loading.load import load as load_results
        from bench.common.paths import rules_folder

        unreadable_image.read_pages()  # DuckDB is now mapped, too
        problems = finalise(session)  # a resumed session may have interrupted attempts
        with waiting_for(is_bench):
            report = load_results(session.parent, rules_folder())
            if not quiet:
                say("\n".join([str(report), *problems]))
            elif left_out := [*report.left_out, *problems]:
                say("\n".join(left_out), err=True)
            show()
    except AnalysisError as error:
        from bench.session.result import SessionResult

        later = SessionResult.command("load", str(session.parent))
        tell(f"bench: {error}\nbench: the result files are complete; load them later with `{later}`")
        return False, False
    # problems of other sessions are printed, but this session did not fail
    own = [problem for problem in report.problems if Path(problem.path).parts[:1] == (session.name,)]
    return True, not own and not problems


def _show(session: Path) -> None:
    from analysis import summary
    from bench.common.paths import called

    summary.show(session.parent, session.name, program=called())


def _add_rows(rows: dict[str, Any], session: Path) -> None:
    from analysis import summary

    rows |= summary.answer(session.parent, session.name)


def _stopped(result: SessionResult) -> str:
    runs, undone = sum(result.statuses.values()), ("not run", "interrupted")
    done = runs - sum(result.statuses.get(status, 0) for status in undone) - result.left_for_time
    text = (
        f"{result.stopped_reason} after {done} of {runs} run{'s' * (runs != 1)}; everything measured is kept."
    )
    # a job of `bench batch` leaves Slurm's record of the job in the folder; it loads the session and is resubmitted
    job = os.environ.get("SLURM_JOB_ID", "")
    if any((result.folder / f"slurm-job-{job}.{kind}").exists() for kind in ("json", "txt")):
        return text
    load = result.command("load", str(result.folder.parent))
    text += f" Run `{load}` first: until then `bench summary` and `bench sql` answer without it."
    return text if done == runs else f"{text} `{result.resume_command}` finishes the session."
