"""bench run: Measure a training script, unchanged, and show how it scales."""

from __future__ import annotations

from typing import Any

import click

from bench.cli._options import Finite, options_named, results_option


@click.command(name="run", context_settings={"allow_interspersed_args": False})
@click.argument("words", metavar="COMMAND [ARG]...", nargs=-1, type=click.UNPROCESSED, required=True)
@click.option(
    "--world", metavar="N,...", default="auto", show_default=True,
    help="Numbers of ranks: 1,2,4 or 2x4; auto: powers of two and all slots.",
)  # fmt: skip
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    metavar="N",
    default=3,
    show_default=True,
    help="Runs of each size.",
)
@click.option(
    "--warmup", type=click.IntRange(min=1), metavar="N", default=5, show_default=True,
    help="Steps before the measured ones.",
)  # fmt: skip
@click.option(
    "--steps", type=click.IntRange(min=1), metavar="N", default=30, show_default=True,
    help="Measured steps; after them, and a few profiled ones, the script is ended.",
)  # fmt: skip
@click.option(
    "--timeout", "timeout_s", type=Finite(min=1), metavar="SECONDS", default=600.0, show_default=True,
    help="Longest time of one run.",
)  # fmt: skip
@click.option(
    "--scaling", type=click.Choice(["counted", "strong", "weak", "none"]), default="counted", show_default=True,
    help="strong: all ranks share one batch; weak: each has its own; counted: as the probe sees.",
)  # fmt: skip
@click.option(
    "--batch-per-rank", type=click.IntRange(min=1), metavar="N",
    help="Value of {batch_per_rank} in the command, and of {global_batch} ÷ ranks.",
)  # fmt: skip
@click.option(
    "--global-batch", type=click.IntRange(min=1), metavar="N",
    help="Value of {global_batch} in the command, and of {batch_per_rank} x ranks.",
)  # fmt: skip
@click.option(
    "--examples-per-step", type=click.IntRange(min=1), metavar="N",
    help="Examples of a rank in each step, if the probe cannot count them.",
)  # fmt: skip
@click.option(
    "--step-optimizer", metavar="CLASS|N",
    help="Optimizer whose step ends a training step.  [default: the one that takes its first step last]",
)  # fmt: skip
@click.option("--env", "variables", metavar="NAME=VALUE", multiple=True, help="Set a variable; repeatable.")
@click.option(
    "--cwd", type=click.Path(), metavar="DIR", help="Run the script there.  [default: the current folder]"
)
@click.option("--name", metavar="NAME", help="Name of the suite in tables.  [default: the script's]")
@options_named("device", "ranks_per_node", "run_order", "oversubscribe", "trace", "session", "tags")
@results_option
@click.option("--no-load", is_flag=True, help="Do not load the session into the database.")
@click.option("--dry-run", is_flag=True, help="Print the plan; run nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@click.option(
    "--launcher", type=click.Choice(["auto", "local"]), default="auto", show_default=True,
    help="auto: all tasks that srun, mpiexec or another launcher has started together, without one this machine; local:"
    " this machine only.",
)  # fmt: skip
def command(
    words: tuple[str, ...],
    *,
    dry_run: bool,
    no_load: bool,
    as_json: bool,
    launcher: str,
    name: str | None,
    variables: tuple[str, ...],
    **options: Any,
) -> int:
    """Run COMMAND, a training script, on several numbers of ranks; then show how it scales.

    \b
    bench run --world 1,2 -- python train.py --batch-size 64

    Each rank runs the command, with the variables that torchrun sets. bench records every optimizer step and ends the
    script after --steps of them. Exit code 1: a run failed; the results name the reason."""
    from bench.cli._run_session import run_session
    from bench.suite.of_command import suite_of_command

    document = suite_of_command(words, name=name, variables=variables, options=options)
    kept = ("ranks_per_node", "run_order", "oversubscribe", "trace", "session", "tags", "results")
    unused = dict.fromkeys(("suite", "selfcheck", "data_root", "resume"))
    return run_session(
        {key: options[key] for key in kept} | unused | {"document": document},
        launcher=launcher, dry_run=dry_run, no_load=no_load, as_json=as_json,
    )  # fmt: skip
