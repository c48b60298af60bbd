"""bench shadow: Print messages and memory of one rank of thousands."""

from __future__ import annotations

import json
from typing import Any

import click

from bench.cli._options import format_option, options_named, timeout_option
from bench.cli._output import say
from bench.cli._suite_argument import SuiteOrCommand, suite_argument, suite_or_command
from bench.common.errors import InputError


@click.command(name="shadow", cls=SuiteOrCommand)
@suite_argument
@options_named("quick", "cases", "settings", "vary", "world", "device", "ranks_per_node", "data_root")
@timeout_option
@format_option("table", "json", note=" JSON is in bytes and seconds.")
@click.pass_context
def command(context: click.Context, /, form: str, **options: Any) -> None:
    """Run one rank of the suite SUITE, a name or a YAML file, or of COMMAND, a training script, without the others and
    without a GPU: print every message of a step by process group, and the peak of memory by kind.

    \b
    bench shadow ddpm_scaling --world 8x512
    bench shadow --world 8x512 -- python train.py

    `--world 8x512` is 8 nodes with 512 ranks each. The real code runs, on tensors that have a size and no values. A
    case with a pipeline has a shadow for each stage."""
    from bench.session.stop import raise_when_told
    from bench.shadow.shadowed import shadows_of_suite

    raise_when_told()
    found = shadows_of_suite(suite_or_command(context), options)
    if form == "json":
        click.echo(json.dumps([one.to_json() for one in found], indent=1))
    elif shown := [one for one in found if not one.is_refused]:
        say("\n\n".join("\n".join(one.lines()) for one in shown))
    refused = dict.fromkeys(one.problem for one in found if one.is_refused)
    if not refused and not any(one.shadows for one in found):
        raise InputError("nothing has a shadow: the lines above say why")
    if refused:
        raise InputError("\n".join(filter(None, refused)))
