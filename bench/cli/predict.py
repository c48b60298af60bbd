"""bench predict: Predict communication time and memory per rank without running."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from bench.cli._options import Finite, format_option, options_named
from bench.cli._output import say
from bench.cli._suite_argument import SuiteOrCommand, suite_argument, suite_or_command
from bench.common.errors import InputError

if TYPE_CHECKING:
    from bench.predict.machine import Measured

_POSITIVE = Finite(min=1e-9, max=1e9)
"""Far beyond any machine, but small enough that nothing computed from it overflows."""


@click.command(name="predict", cls=SuiteOrCommand)
@suite_argument
@options_named(
    "quick", "cases", "settings", "vary", "world", "device", "ranks_per_node", "results", "data_root"
)
@click.option(
    "--bus-gbps", type=_POSITIVE, metavar="GB/S",
    help="Bus bandwidth in 10^9 bytes per second, as nccl-tests prints it: a 400 Gbit/s link has 50.",
)  # fmt: skip
@click.option(
    "--latency-us", type=Finite(min=0, max=1e12), metavar="US",
    help="With --bus-gbps: latency of each dependent message in microseconds.  [default: 0]",
)  # fmt: skip
@click.option(
    "--inter-bus-gbps", type=_POSITIVE, metavar="GB/S",
    help="Bus bandwidth across nodes; --bus-gbps is then the bandwidth within a node.",
)  # fmt: skip
@click.option(
    "--inter-latency-us", type=Finite(min=0, max=1e12), metavar="US",
    help="With --bus-gbps: latency of each message across nodes in microseconds.",
)  # fmt: skip
@click.option("--memory", metavar="SIZE", help="Memory of a rank, as in 80GiB.  [default: this machine's]")
@click.option(
    "--tflops", type=_POSITIVE, metavar="N",
    help="With SUITE: compute rate that one device achieves in training, in 10^12 FLOP/s.",
)  # fmt: skip
@click.option(
    "--messages", is_flag=True,
    help="Also print the messages that a rank sends in a step, by phase, process group and operation.",
)  # fmt: skip
@click.option(
    "--timeout", "timeout_s", type=Finite(min=1, max=1e6), default=600.0, metavar="SECONDS",
    help="Time limit for the steps of each case and world size.  [default: 600]",
)  # fmt: skip
@format_option("table", "json", note=" JSON is in bytes, seconds and fractions.")
@click.pass_context
def command(context: click.Context, /, form: str, **options: Any) -> None:
    """Predict the suite SUITE, a name or a YAML file, or COMMAND, a training program: for each case and world size the
    communication time, the memory of a rank, and whether it fits. World sizes may exceed this machine.

    \b
    bench predict ddpm_scaling --world 64 --ranks-per-node 8
    bench predict --messages --world 8x8 -- python train.py

    `--world 8x8` is 8 nodes with 8 ranks each. One rank runs the real code for a few steps, without the others and
    without a GPU, on tensors that have a size and no values."""
    from bench.machine.slots import detect
    from bench.predict.machine import machine
    from bench.predict.predict import predictions
    from bench.predict.prediction_text import lines
    from bench.session.stop import raise_when_told

    raise_when_told()
    here = detect(options["ranks_per_node"])
    known = machine(options, _measured(options["results"]), here.cpus_per_node)
    asked = suite_or_command(context)
    found = predictions(asked, here, known, options["data_root"], timeout_s=options["timeout_s"])
    specs = [one.spec for one in found]
    sources = [
        line
        for device in dict.fromkeys(spec.device_type for spec in specs)
        for line in known.sources(device, [spec for spec in specs if spec.device_type == device])
    ]
    if form == "json":
        click.echo(
            json.dumps(
                {
                    "machine": sources,
                    "predictions": [one.to_json(messages=options["messages"]) for one in found],
                },
                indent=1,
            )
        )
    else:
        say("\n".join(sources))
        click.echo(
            "\n".join(["", *lines(found, messages=options["messages"])])
        )  # a line of a table is not wrapped
    if all(one.memory is None for one in found):
        raise InputError("nothing can be predicted: the lines above say why")


def _measured(results: str | None) -> dict[str, Measured]:
    """Measured speed by device type; empty if duckdb is not installed."""
    import importlib.util

    from bench.common.paths import results_folder
    from bench.predict.machine import Measured

    if importlib.util.find_spec("duckdb") is None:
        return {"cpu": Measured(), "cuda": Measured()}
    from analysis.sql import machine_speed

    folder = results_folder(results)
    return {kind: Measured.of(**machine_speed.measured(folder, kind)) for kind in ("cpu", "cuda")}
