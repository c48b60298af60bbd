"""bench suite: Run a suite; show how it scales."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from bench.cli import _complete
from bench.cli._options import (
    MEASURE,
    SESSION_GROUPS,
    format_option,
    python_option,
    refuse,
    session_options,
    suite_options,
)
from bench.cli._srun import step_options, take_step_options, through_srun
from bench.cli._suite_argument import SuiteOrCommand, folders_read, resolve

_GROUPS = {
    "What to run": (
        *("quick", "cases", "settings", "vary", "world", "repeats", "run_order", "data_root", "resume"),
        "dry_run",
    ),
    **SESSION_GROUPS,
    "Where it runs": ("python", *SESSION_GROUPS["Where it runs"]),
}


class _Suite(SuiteOrCommand):
    option_groups = _GROUPS


@click.command(name="suite", cls=_Suite)
@click.argument("suite", metavar="[SUITE]", required=False, shell_complete=_complete.suites)
@suite_options
@python_option
@session_options
@format_option("table", "json", note=" Also with --dry-run.")
@step_options
@click.pass_context
def command(
    context: click.Context, /, *, dry_run: bool, no_load: bool, form: str, launcher: str, **options: Any
) -> int:
    """Run the suite SUITE, a name or a YAML file; then show how it scales.

    \b
    bench suite smoke --quick
    bench suite my_suite.yaml --world 1,2,4

    `bench list` shows the suites. `bench run` measures a command that no suite has.

    Exit code 1: a run failed; the results name the reason. 130 or 143: the session was stopped; --resume finishes
    it."""
    from bench.cli._run_session import run_session

    step = take_step_options(options, launcher)
    _check_what_to_run(context, options.pop("words"))
    suite = options["suite"]
    session = _session_options(options)
    if launcher == "srun":
        if suite is not None:
            resolve(suite, session)  # report mistakes now, not after the job has waited in the queue
        return through_srun(context, step, folders_read(suite, options["data_root"]), dry_run=dry_run)
    return run_session(session, launcher=launcher, dry_run=dry_run, no_load=no_load, as_json=form == "json")


def _check_what_to_run(context: click.Context, words: tuple[str, ...]) -> None:
    """Raise InputError unless the call has one suite or one session to resume, and options that fit."""
    from bench.command.options import start_of
    from bench.common.errors import InputError

    suite, resumed = context.params["suite"], context.params["resume"]
    if suite is not None and Path(suite).suffix in (".py", ".sh"):
        words = (start_of(suite), suite)
    if words:
        raise InputError(f"`bench suite` runs suites, not commands: bench run -- {shlex.join(words)}")
    if suite is None and resumed is None:
        raise InputError(
            "there is nothing to run: name a suite, as in `bench suite smoke`, or a session with --resume; `bench "
            "list` shows the suites"
        )
    if resumed is not None:
        refuse(context, (*MEASURE, "dry_run"), "a resumed session keeps its plan: leave it out")


def _session_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The SessionOptions of the call."""
    chosen = {key: value for key, value in options.items() if key not in MEASURE}
    measure = [f"measure.{key}={options[key]}" for key in MEASURE if options[key] is not None]
    return chosen | {"settings": (*options["settings"], *measure), "measured_by": "suite"}
