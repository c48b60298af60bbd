"""How `bench suite` ends: rows loaded, the scaling table, one sentence, and where the results lie."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bench import lost_image
from bench.launch.stop import ToldToStop

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.launch.run_suite import Ended


def close(ended: Ended, *, load: bool, as_json: bool) -> int:
    """Print the ending; returns the exit code."""
    if ended.stopped_by is not None:
        # The image that holds the rest of the program may be going away: nothing more is imported.
        if ended.stopped_by != 128 + signal.SIGHUP:
            click.echo(_stopped(ended), err=True)
        return ended.stopped_by
    answer: dict[str, Any] = {}
    show = partial(_add_rows, answer, ended) if as_json else partial(_show, ended.folder)
    try:
        with lost_image.awaiting_its_signal():
            sound = _in_the_database(ended.folder, load=load, show=show, quiet=as_json)
    except (ToldToStop, KeyboardInterrupt) as error:
        stop = error if isinstance(error, ToldToStop) else ToldToStop(signal.SIGINT)
        if not stop.terminal_gone:
            click.echo(_stopped(replace(ended, stopped_reason=str(stop))), err=True)
        return stop.exit_code
    code = max(ended.exit_code, 0 if sound else 1)
    if as_json:
        click.echo(json.dumps(_as_json(ended, code) | answer, indent=1))
        return code
    for lost in ended.lost:
        click.echo(f"bench: {lost}", err=True)
    if ended.left_for_time or ended.lost:
        why = f"{ended.left_for_time} runs did not fit into the allocation: " if ended.left_for_time else ""
        click.echo(f"{why}`{ended.resume_command}` runs what is left", err=True)
    click.echo(f"results: {ended.folder}")
    return code


def prepare() -> None:
    """Import now what the end of a session that is stopped needs: its image may be gone by then."""
    import analysis.plain  # noqa: F401 - by bench/cli/_said.py

    lost_image.read_pages()


def check_own_rules(*, load: bool) -> None:
    """Raises AnalysisError where $BENCH_RULES would keep the session out of the database, before it is measured."""
    from bench.paths import rules_folder

    folder = rules_folder()
    if load and folder is not None and importlib.util.find_spec("duckdb") is not None:
        from analysis import own_rule_files

        own_rule_files.check(folder)


def show_loaded(session: Path, *, load: bool) -> int:
    """The ending of a session that ran nothing: `bench import`. Returns the exit code."""
    sound = _in_the_database(session, load=load, show=partial(_show, session), quiet=False)
    click.echo(f"results: {session}")
    return 0 if sound else 1


def _in_the_database(session: Path, *, load: bool, show: Callable[[], None], quiet: bool) -> bool:
    """Load and show it, where that is wanted; returns whether nothing of it is missing.

    The session is written: a database that somebody holds open must not make it look as if it were not."""
    if not load or importlib.util.find_spec("duckdb") is None:
        return True
    from analysis.errors import AnalysisError

    try:
        problems = _load(session, quiet=quiet)
        show()
    except AnalysisError as error:
        from bench.launch.run_suite import Ended

        later = Ended.command("load", str(session.parent))
        click.echo(
            f"bench: {error}\nbench: the result files are written; `{later}` brings them into the database then",
            err=True,
        )
        return False
    return not problems


def _show(session: Path) -> None:
    from analysis import summary
    from bench.program import called

    summary.show(session.parent, session.name, every_run=False, program=called())


def _stopped(ended: Ended) -> str:
    runs, undone = sum(ended.statuses.values()), ("not run", "interrupted")
    done = runs - sum(ended.statuses.get(status, 0) for status in undone) - ended.left_for_time
    text = f"{ended.stopped_reason} after {done} of {runs} run{'s' * (runs != 1)}; what was measured is kept."
    if _in_a_batch_script(ended.folder):  # which loads and shows it, and is submitted again
        return text
    load = ended.command("load", str(ended.folder.parent))
    if done == runs:
        return f"{text} `{load}` shows it."
    return f"{text} `{load}` shows it, `{ended.resume_command}` finishes the session."


def _in_a_batch_script(folder: Path) -> bool:
    """One of `bench script`: it leaves Slurm's record of the job in the session's folder."""
    job = os.environ.get("SLURM_JOB_ID", "")
    return any((folder / f"slurm-job-{job}.{kind}").exists() for kind in ("json", "txt"))


def _load(session: Path, *, quiet: bool) -> int:
    from analysis.load import load
    from bench.measure.raw_rows import finalise
    from bench.paths import rules_folder

    lost_image.read_pages()  # DuckDB's

    problems = finalise(session)  # attempts that were interrupted, where this session was resumed
    report = load(session.parent, rules_folder())
    if not quiet:
        click.echo("\n".join([str(report), *problems]))
    # what is wrong with other sessions is said, but this one did not fail
    ours = [problem for problem in report.problems if Path(problem.path).parts[:1] == (session.name,)]
    return len(ours) + len(problems)


def _as_json(ended: Ended, code: int) -> dict[str, Any]:
    return {
        "session_id": ended.session_id,
        "results": str(ended.folder),
        "statuses": ended.statuses,
        "failed_probes": ended.failed_probes,
        "exit_code": code,
    }


def _add_rows(answer: dict[str, Any], ended: Ended) -> None:
    from analysis import summary

    answer |= summary.answer(ended.folder.parent, ended.session_id)
