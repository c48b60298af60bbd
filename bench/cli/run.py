"""bench run: Run any training program; show how it scales."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from bench.cli import _complete
from bench.cli._options import (
    MEASURE,
    SESSION_GROUPS,
    GroupedCommand,
    format_option,
    options_named,
    refuse,
)
from bench.cli._srun import step_options, take_step_options, through_srun

_OF_THE_COMMAND = (
    *("variables", "cwd", "isolate", "name", "scaling", "batch_per_rank", "global_batch"),
    *("examples_per_step", "pauses", "step_optimizer"),
)
_OF_A_SUITE = ("--quick", "--case", "--data")
_GROUPS = {
    "What to run": ("settings", "vary", "world", "repeats", "run_order", "resume", "dry_run"),
    "The command": _OF_THE_COMMAND,
    **SESSION_GROUPS,
}


class _Run(GroupedCommand):
    option_groups = _GROUPS

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name not in _OF_A_SUITE:
                raise
            from bench.common.errors import InputError

            option = error.option_name
            short = "; a short test of a command: bench run --repeats 1 --steps 8" * (option == "--quick")
            raise InputError(
                f"`bench run` runs commands, and {option} is for suites: bench suite SUITE {option}{short}"
            ) from None


@click.command(name="run", cls=_Run, context_settings={"allow_interspersed_args": False})
@click.argument(
    "words", metavar="-- COMMAND [ARG]...", nargs=-1, type=click.UNPROCESSED, shell_complete=_complete.files
)
@options_named(
    *(
        "settings",
        "vary",
        "world",
        "repeats",
        "run_order",
        "device",
        "ranks_per_node",
        "oversubscribe",
        "trace",
    ),
    *("selfcheck", "results", "session", "tags", "warmup", "steps", "timeout_s", "reserve", "resume"),
    *("no_load", "dry_run"),
    settings="Set a key of a suite that has the command as its only case, as in measure.profiled=4; repeatable.",
    vary="Measure the command with each of these values in every round, as in threads=1,2; repeatable.",
    world="Numbers of ranks: 1,2,4, or 2x4 (nodes x ranks of each), or auto."
    "  [default: auto, each power of two and the full number]",
    repeats="Run exactly N repeats.  [default: 3]",
    run_order="Order of the runs in each round of repeats: drawn from the session's id, or by size.  [default: random]",
    device="Device to run on.  [default: auto]",
    trace="Keep each rank's profiled steps as trace.rankN.json.gz.",
    selfcheck="Measure recorder overhead with 100 or more extra steps, or never.  [default: never]",
    warmup="Steps before the measured ones.  [default: 5]",
    steps="Measured steps. After these and a few profiled ones, bench ends the command.  [default: 30]",
    timeout_s="Longest time of one run.  [default: 600]",
)
@click.option(
    "--env",
    "variables",
    metavar="NAME=VALUE",
    multiple=True,
    help="Set a variable of the command; repeatable.",
)
@click.option(
    "--cwd", type=click.Path(), metavar="DIR", help="Run the command there.  [default: the current folder]"
)
@click.option(
    "--isolate", is_flag=True,
    help="Run the command in a copy of that folder, which is deleted after each run; files that git ignores are not in"
    " it.",
)  # fmt: skip
@click.option(
    "--name",
    metavar="NAME",
    help="Name in tables, in place of a suite's.  [default: the program's or script's]",
)
@click.option(
    "--scaling", type=click.Choice(["counted", "strong", "weak", "none"]),
    help="How the batch grows. strong: all ranks share one batch; weak: each has its own; counted: bench counts the"
    " examples of each step.  [default: counted]",
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
    help="Examples of a rank in each step, if bench cannot count them.",
)  # fmt: skip
@click.option(
    "--pauses", type=click.Choice(["count", "leave-out"]),
    help="Whether pauses between steps count as training. count: all of them; leave-out: none. Also with --resume, to"
    " say it afterwards.  [default: only those of an unknown kind]",
)  # fmt: skip
@click.option(
    "--step-optimizer", metavar="CLASS|N",
    help="Optimizer whose step ends a training step.  [default: the one that takes its first step last]",
)  # fmt: skip
@format_option("table", "json", note=" Also with --dry-run.")
@step_options
@click.pass_context
def command(
    context: click.Context,
    /,
    words: tuple[str, ...],
    *,
    dry_run: bool,
    no_load: bool,
    form: str,
    launcher: str,
    **options: Any,
) -> int:
    """Run COMMAND, a training program, on several numbers of ranks; then show how it scales.

    \b
    bench run --world 1,2 -- python train.py --batch-size 64

    Each rank runs COMMAND, with the variables that torchrun sets. bench records every optimizer step and ends the
    command when --steps are measured. By default the command runs three times at each power of two of ranks, and at
    the full number. `bench suite` runs a suite.

    Exit code 1: a run failed; the results name the reason. 130 or 143: the session was stopped; --resume finishes
    it."""
    from bench.cli._run_session import run_session

    step = take_step_options(options, launcher)
    _check_what_to_run(context)
    session = _session_options(words, options)
    if launcher == "srun":
        return through_srun(context, step, [options["cwd"] or "."], words, dry_run=dry_run)
    return run_session(session, launcher=launcher, dry_run=dry_run, no_load=no_load, as_json=form == "json")


def _check_what_to_run(context: click.Context) -> None:
    """Raise InputError unless the call has one command or one session to resume, and options that fit."""
    from bench.command.rank import is_startable, not_a_program
    from bench.common.errors import InputError
    from bench.suite.find import is_suite

    words, cwd, resumed = (context.params[name] for name in ("words", "cwd", "resume"))
    if resumed is not None and words:
        raise InputError(
            f"the session {resumed} and the command {words[0]} are both given: leave one of them out"
        )
    if resumed is not None:
        refuse(
            context,
            [name for name in (*_OF_THE_COMMAND, *MEASURE, "dry_run") if name != "pauses"],
            "a resumed session keeps its command and its plan: leave it out",
        )
        return
    if not words:
        raise InputError(
            "there is nothing to run: give a command after two dashes, as in `bench run -- python train.py`, or name a "
            "session with --resume"
        )
    program = words[0]
    file = Path(cwd or ".").absolute() / program
    found = shutil.which(str(file) if "/" in program else program)
    if found is None and is_suite(program):
        raise InputError(f"{program} is a suite, not a program: bench suite {shlex.quote(program)}")
    if file.is_file() and (found is None or (Path(found) == file and not is_startable(file))):
        raise InputError(not_a_program(words, file, "bench run -- "))


def _session_options(words: tuple[str, ...], options: Mapping[str, Any]) -> dict[str, Any]:
    """The SessionOptions of the call. Raises InputError if the command cannot be measured."""
    from bench.command.suite import suite_of_command
    from bench.suite.resolve import resolve
    from bench.suite.selection import Selection

    chosen = {key: value for key, value in options.items() if key not in (*_OF_THE_COMMAND, *MEASURE)}
    chosen |= {"suite": None, "data_root": None, "measured_by": "run"}
    if not words:  # a session to resume
        return chosen | {"pauses": options["pauses"]}
    document = suite_of_command(words, name=options["name"], variables=options["variables"], options=options)
    resolve(
        document.root,
        Path("bench run"),
        Selection(settings=options["settings"], vary=options["vary"]),
        name=document.name,
    )  # report mistakes now, not after the job has waited in the queue
    return chosen | dict.fromkeys(("world", "repeats", "device")) | {"document": document}
