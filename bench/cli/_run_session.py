"""Run a session on this machine or on all tasks of a launcher, as `bench suite` and `bench run` do."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from pathlib import Path

    from bench.records.run_spec import PlannedRun


def run_session(
    options: Mapping[str, Any], *, launcher: str, dry_run: bool, no_load: bool, as_json: bool
) -> int:
    """Run the session of these SessionOptions, or print its plan. Returns the exit code."""
    from bench.cli._finish_session import check_custom_rules, finish, prepare
    from bench.cli._output import outlive_readers
    from bench.common.paths import results_folder, writable_results_folder
    from bench.launch.here import found_here, step_of
    from bench.launch.launchers import Task
    from bench.session.find_session import find_session
    from bench.session.folder import SessionFolder
    from bench.session.start import SessionOptions, planned_runs, ranks_python, start
    from bench.session.stop import raise_when_told

    if options["resume"] is not None:
        results = results_folder(options["results"])
        resumed = find_session(results, options["resume"])
        python = options.get("python") or ranks_python(SessionFolder(results, resumed))
        options = {**options, "resume": resumed, "python": python}
    session_options = SessionOptions(**options)
    found = found_here(options["session"] or options["resume"]) if launcher == "auto" else None
    if dry_run:
        if found is None or found.task == 0:
            if isinstance(found, Task) and found.tasks > 1:
                sys.stderr.write(
                    f"bench: this plan is for one node; a session would use all nodes of the {found.tasks} tasks of "
                    f"{found.launcher}\n"
                )
            _print_plan(*planned_runs(session_options), as_json=as_json)
        return 0
    prepare()
    outlive_readers()
    raise_when_told()
    results = writable_results_folder(options["results"])
    step = step_of(found, results)
    if step is not None and step.task > 0:
        from bench.cluster.follower import follow

        return follow(step, results, options["ranks_per_node"], options.get("python"))
    check_custom_rules(load=not no_load)
    return finish(start(session_options, step), load=not no_load, as_json=as_json)


def _print_plan(plan: tuple[PlannedRun, ...], results: Path, *, as_json: bool) -> None:
    from dataclasses import asdict

    from bench.common.terminal import width_of
    from bench.plan.estimate import estimate
    from bench.plan.plan_text import plan_lines
    from bench.session.folder import plan_summary

    if as_json:
        found = {"plan": plan_summary(plan), "estimate": asdict(estimate(plan, results))}
        click.echo(json.dumps(found, indent=1))
    else:
        click.echo("\n".join(plan_lines(plan, results, width_of(sys.stdout))))
