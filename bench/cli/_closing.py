"""How `bench suite` ends: rows loaded, the scaling table, one sentence, and where the results lie."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from bench.launch.run_suite import Ended


def close(ended: Ended, *, load: bool, as_json: bool) -> int:
    """Print the ending; returns the exit code."""
    results = ended.folder.parent
    if ended.stopped_by is not None:
        # The image that holds the rest of the program may be going away: nothing more is imported.
        if ended.stopped_by != 128 + signal.SIGHUP:
            click.echo(_stopped(ended), err=True)
        return ended.stopped_by
    load = load and importlib.util.find_spec("duckdb") is not None
    problems = _load(ended.folder, quiet=as_json) if load else 0
    code = max(ended.exit_code, 1 if problems else 0)
    if as_json:
        click.echo(json.dumps(_as_json(ended, code, load), indent=1))
        return code
    if load:
        from analysis import summary

        summary.show(results, ended.session_id, every_run=False)
    for lost in ended.lost:
        click.echo(f"bench: {lost}", err=True)
    if ended.left_for_time or ended.lost:
        why = f"{ended.left_for_time} runs did not fit into the allocation: " if ended.left_for_time else ""
        click.echo(f"{why}`{ended.resume_command}` runs what is left", err=True)
    click.echo(f"results: {ended.folder}")
    return code


def show_loaded(session: Path, *, load: bool) -> int:
    """The ending of a session that ran nothing: `bench import`. Returns the exit code."""
    problems = 0
    if load and importlib.util.find_spec("duckdb") is not None:
        from analysis import summary

        problems = _load(session, quiet=False)
        summary.show(session.parent, session.name, every_run=False)
    click.echo(f"results: {session}")
    return 1 if problems else 0


def _stopped(ended: Ended) -> str:
    runs, undone = sum(ended.statuses.values()), ("not run", "interrupted")
    done = runs - sum(ended.statuses.get(status, 0) for status in undone) - ended.left_for_time
    text = f"{ended.stopped_reason} after {done} of {runs} run{'s' * (runs != 1)}; what was measured is kept."
    if _in_a_batch_script(ended.folder):  # which loads and shows it, and is submitted again
        return text
    load = ended.command("load", str(ended.folder.parent))
    return f"{text} `{load}` shows it, `{ended.resume_command}` finishes the session."


def _in_a_batch_script(folder: Path) -> bool:
    """One of `bench script`: it leaves Slurm's record of the job in the session's folder."""
    job = os.environ.get("SLURM_JOB_ID", "")
    return any((folder / f"slurm-job-{job}.{kind}").exists() for kind in ("json", "txt"))


def _load(session: Path, *, quiet: bool) -> int:
    from analysis.load import load
    from bench.measure.finalise import finalise

    problems = finalise(session)  # attempts that were interrupted, where this session was resumed
    report = load(session.parent)
    if not quiet:
        click.echo("\n".join([str(report), *problems]))
    # what is wrong with other sessions is said, but this one did not fail
    ours = [problem for problem in report.problems if Path(problem.path).parts[:1] == (session.name,)]
    return len(ours) + len(problems)


def _as_json(ended: Ended, code: int, loaded: bool) -> dict[str, Any]:
    answer = {
        "session_id": ended.session_id,
        "results": str(ended.folder),
        "statuses": ended.statuses,
        "exit_code": code,
    }
    if loaded:
        from analysis.summary import scaling_rows

        answer["scaling"] = scaling_rows(ended.folder.parent, ended.session_id)
    return answer
