"""`bench suite --plan-for`: plan a session from an earlier one."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from bench.cli._options import given
from bench.cli._suite_argument import resolve

if TYPE_CHECKING:
    from bench.suite.models import ResolvedSuite


def print_plan_for(context: click.Context, call: Mapping[str, Any], width: float, *, as_json: bool) -> None:
    """Print the cheapest plan of a session with the SessionOptions `call` for intervals of this half-width, a fraction.

    Raises InputError if nothing can be planned, or if no plan reaches the width."""
    from dataclasses import asdict

    from analysis.sql import pilot as pilots
    from bench.common.errors import InputError
    from bench.common.paths import results_folder
    from bench.plan.pilot import newest_pilot
    from bench.plan.plan_for import pilot_of
    from bench.plan.plan_for_text import plan_for_lines, unreached

    if call["suite"] is None or call["resume"] is not None:
        raise InputError("--plan-for plans a new session: name a suite, without --resume")
    if width == 0:
        raise InputError("--plan-for 0%: an interval has a width: ask for more, as in 2%")
    suite = resolve(call["suite"], call)
    _refuse_what_has_no_steps(suite)
    results = results_folder(call["results"])
    session_id = newest_pilot(results, suite)
    pilot_command = f"`{_command(context, call, 3, None)}` measures one"
    if session_id is None:
        raise InputError(
            f"--plan-for needs a pilot, a finished session of these cases and options, and there is none in "
            f"{results}: {pilot_command}"
        )
    pilot = pilot_of(session_id, pilots.read(results, session_id), suite)
    if pilot is None:
        raise InputError(
            f"--plan-for needs a pilot with two ok runs of every size, and {session_id}, the newest session of "
            f"these cases and options, has fewer: {pilot_command}"
        )
    if not any(pilot.step_counts()):
        raise InputError(
            "--plan-for: a run with the fewest steps that show the noise takes more than half of its time limit: "
            f"raise the limit, as with --set measure.timeout_s={pilot.least_timeout_s():.0f}"
        )
    plan = pilot.cheapest(width)
    if plan is None:
        raise InputError(f"--plan-for: {unreached(pilot, width)}")
    resolve(
        call["suite"], {**call, "settings": _settings(call, plan.steps)}
    )  # refused here, not after this plan
    command = _command(context, call, plan.rounds, plan.steps)
    if as_json:
        answer = {"plan": asdict(plan), "suite_as_it_is": asdict(pilot.as_it_is()), "pilot": asdict(pilot)}
        click.echo(json.dumps(answer | {"command": command}, indent=1))
    else:
        click.echo("\n".join(plan_for_lines(pilot, width, plan, command)))


def _refuse_what_has_no_steps(suite: ResolvedSuite) -> None:
    from bench import workloads
    from bench.common.errors import InputError

    for case in suite.cases:
        if workloads.measures_machine(case.workload.name):
            raise InputError(f"--plan-for plans trainings, and case {case.name} measures the machine")
        if case.measure.steps is None:
            raise InputError(
                f"--plan-for chooses the steps, but measure.epochs sets those of case {case.name}: measure steps "
                "instead, as with --set measure.epochs=null --set measure.steps=100"
            )


def _command(context: click.Context, call: Mapping[str, Any], repeats: int, steps: int | None) -> str:
    """The command that measures the suite with these numbers [null: as it was called]."""
    from bench.common.paths import called

    replaced = ("repeats", "settings", "warmup", "steps", "timeout_s")
    words = given(context, without=(*replaced, "width", "form", "json", "dry_run", "session"))
    settings = [word for setting in _settings(call, steps) for word in ("--set", setting)]
    return f"{called()} suite {shlex.join([*words, '--repeats', str(repeats), *settings])}"


def _settings(call: Mapping[str, Any], steps: int | None) -> tuple[str, ...]:
    """Every --set, with the number of steps in place of those that are given."""
    given_settings: tuple[str, ...] = call["settings"]
    if steps is None:
        return given_settings
    others = (one for one in given_settings if not one.partition("=")[0].strip().endswith("measure.steps"))
    return (*others, f"measure.steps={steps}")
