"""How `bench suite` ends: rows loaded, the scaling table, one sentence, and where the results lie."""

from __future__ import annotations

import importlib.util
import json
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
            click.echo(
                f"stopped; what was measured is kept. `{ended.command('load', str(results))}` shows it, "
                f"`{ended.resume_command}` finishes the session.",
                err=True,
            )
        return ended.stopped_by
    load = load and importlib.util.find_spec("duckdb") is not None
    problems = _load(ended, quiet=as_json) if load else 0
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


def _load(ended: Ended, *, quiet: bool) -> int:
    from analysis.load import load
    from bench.measure.finalise import finalise

    problems = finalise(ended.folder)  # attempts that were interrupted, where this session was resumed
    report = load(ended.folder.parent)
    if not quiet:
        click.echo("\n".join([str(report), *problems]))
    # what is wrong with other sessions is said, but this one did not fail
    ours = [problem for problem in report.problems if Path(problem.path).parts[:1] == (ended.session_id,)]
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
