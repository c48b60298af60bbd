"""bench run: Run a suite, or a training script; show how it scales."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from bench.cli import _complete
from bench.cli._options import PERCENT, Finite, format_option, refuse, suite_options
from bench.cli._srun import step_options, take_step_options, through_srun
from bench.cli._suite_argument import SuiteOrCommand, check_suite_or_command, suite_argument

_OF_A_COMMAND = (
    *("scaling", "batch_per_rank", "global_batch", "examples_per_step", "step_optimizer"),
    *("variables", "cwd", "isolate", "name"),
)
_MEASURE = ("warmup", "steps", "timeout_s")
"""Options named as the keys of a suite's section `measure` that they set."""
_GROUPS = {
    "What to run": (
        *("quick", "cases", "settings", "vary", "world", "repeats", "run_order", "data_root", "resume"),
        *("dry_run", "width"),
    ),
    "The command, if there is one": (
        *("variables", "cwd", "isolate", "name", "scaling", "batch_per_rank", "global_batch"),
        *("examples_per_step", "step_optimizer"),
    ),
    "Where it runs": (
        *("device", "ranks_per_node", "oversubscribe", "launcher", "image", "nodes", "gpus_per_node", "srun"),
    ),
    "How it is measured": ("warmup", "steps", "timeout_s", "trace", "selfcheck", "reserve"),
    "Results": ("results", "session", "tags", "no_load", "form", "json"),
}
"""Heading of the help -> parameters."""
_WHAT_TO_GIVE = (
    "name a suite, as in `bench run smoke`; give a command after two dashes, as in `bench run -- python train.py`; or "
    "name a session with --resume. `bench list` shows the suites"
)


class _Run(SuiteOrCommand):
    option_groups = _GROUPS


@click.command(name="run", cls=_Run)
@suite_argument
@suite_options
@click.option(
    "--warmup", type=click.IntRange(min=1), metavar="N",
    help="Steps before the measured ones.  [default: the suite's; 5 for a command]",
)  # fmt: skip
@click.option(
    "--steps", type=click.IntRange(min=1), metavar="N",
    help="Measured steps. After these and a few profiled ones, bench ends a command."
    "  [default: the suite's; 30 for a command]",
)  # fmt: skip
@click.option(
    "--timeout", "timeout_s", type=Finite(min=1), metavar="SECONDS",
    help="Longest time of one run.  [default: the suite's; 600 for a command]",
)  # fmt: skip
@click.option(
    "--scaling", type=click.Choice(["counted", "strong", "weak", "none"]),
    help="How a command's batch grows. strong: all ranks share one batch; weak: each has its own; counted: bench"
    " counts the examples of each step.  [default: counted]",
)  # fmt: skip
@click.option(
    "--batch-per-rank", type=click.IntRange(min=1), metavar="N",
    help="Replaces {batch_per_rank} in the command; {global_batch} becomes N x ranks.",
)  # fmt: skip
@click.option(
    "--global-batch", type=click.IntRange(min=1), metavar="N",
    help="Replaces {global_batch} in the command; {batch_per_rank} becomes N ÷ ranks.",
)  # fmt: skip
@click.option(
    "--examples-per-step", type=click.IntRange(min=1), metavar="N",
    help="Examples of a rank in each step of a command, if bench cannot count them.",
)  # fmt: skip
@click.option(
    "--step-optimizer", metavar="CLASS|N",
    help="Optimizer whose step ends a training step of a command.  [default: the one that takes its first step last]",
)  # fmt: skip
@click.option(
    "--env", "variables", metavar="NAME=VALUE", multiple=True, help="Set a variable of a command; repeatable."
)
@click.option(
    "--cwd", type=click.Path(), metavar="DIR", help="Run the command there.  [default: the current folder]"
)
@click.option(
    "--isolate", is_flag=True,
    help="Run the command in a copy of that folder, which is deleted after each run; files that git ignores are not in"
    " it.",
)  # fmt: skip
@click.option("--name", metavar="NAME", help="Name of a command's suite in tables.  [default: the script's]")
@click.option(
    "--reserve", type=Finite(min=0), metavar="SECONDS",
    help="Skip runs that would end less than SECONDS before the Slurm allocation does.  [default: 30]",
)  # fmt: skip
@click.option(
    "--resume",
    metavar="SESSION",
    shell_complete=_complete.sessions,
    help="Finish an earlier session, named as in `bench summary`, such as @latest; completed runs are not repeated.",
)
@click.option("--no-load", is_flag=True, help="Do not load the session into the database.")
@click.option("--dry-run", is_flag=True, help="Print the plan and an estimate of its time; run nothing.")
@click.option(
    "--plan-for", "width", type=PERCENT, metavar="PERCENT",
    help="Print how many steps and rounds are cheapest for 95 % intervals of efficiency with this half-width, from the"
    " newest session of the suite; run nothing.",
)  # fmt: skip
@format_option("table", "json", note=" Also with --dry-run and --plan-for.")
@step_options
@click.pass_context
def command(
    context: click.Context,
    /,
    words: tuple[str, ...],
    *,
    dry_run: bool,
    width: float | None,
    no_load: bool,
    form: str,
    launcher: str,
    **options: Any,
) -> int:
    """Run the suite SUITE, a name or a YAML file, or COMMAND, a training script; then show how it scales.

    \b
    bench run smoke --quick
    bench run --world 1,2 -- python train.py --batch-size 64

    Each rank runs COMMAND, with the variables that torchrun sets. bench records every optimizer step and ends the
    script when --steps are measured. By default the script runs three times at each power of two of ranks, and at the
    full number. `bench suite` is the same command.

    Exit code 1: a run failed; the results name the reason. 130 or 143: the session was stopped; --resume finishes
    it."""
    from bench.cli._plan_for import print_plan_for
    from bench.cli._run_session import run_session

    step = take_step_options(options, launcher)
    _check_what_to_run(context)
    session = _of_command(words, options) if words else _of_suite(options)
    if width is not None:
        print_plan_for(context, session, width, as_json=form == "json")
        return 0
    if launcher == "srun":
        return through_srun(context, step, session, words, dry_run=dry_run)
    return run_session(session, launcher=launcher, dry_run=dry_run, no_load=no_load, as_json=form == "json")


def _check_what_to_run(context: click.Context) -> None:
    """Raise InputError unless the call has one suite, one command or one session to resume, and options that fit."""
    from bench.common.errors import InputError

    check_suite_or_command(context)
    words, resumed = context.params["words"], context.params["resume"]
    if context.params["suite"] is None and not words and resumed is None and context.params["width"] is None:
        raise InputError(f"there is nothing to run: {_WHAT_TO_GIVE}")
    if resumed is not None:
        refuse(context, (*_MEASURE, "dry_run"), "a resumed session keeps its plan: leave it out")
    if not words:
        refuse(
            context,
            _OF_A_COMMAND,
            "only for a command after two dashes: in a suite, use the keys of its file, as with "
            "--set cases.NAME.global_batch=256",
        )


def _of_suite(options: Mapping[str, Any]) -> dict[str, Any]:
    """The SessionOptions of a call with a suite, or with a session to resume."""
    chosen = {key: value for key, value in options.items() if key not in (*_OF_A_COMMAND, *_MEASURE)}
    measure = [f"measure.{key}={options[key]}" for key in _MEASURE if options[key] is not None]
    return chosen | {"settings": (*options["settings"], *measure)}


def _of_command(words: tuple[str, ...], options: Mapping[str, Any]) -> dict[str, Any]:
    """The SessionOptions of a call with a command. Raises InputError if the command cannot be measured."""
    from bench.suite.of_command import suite_of_command
    from bench.suite.resolve import resolve
    from bench.suite.selection import Selection

    document = suite_of_command(words, name=options["name"], variables=options["variables"], options=options)
    resolve(
        document.root,
        Path("bench run"),
        Selection(settings=options["settings"], vary=options["vary"]),
        name=document.name,
    )  # report mistakes now, not after the job has waited in the queue
    chosen = {key: value for key, value in options.items() if key not in (*_OF_A_COMMAND, *_MEASURE)}
    return chosen | dict.fromkeys(("world", "repeats", "device")) | {"document": document}
