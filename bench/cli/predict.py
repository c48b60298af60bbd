"""bench predict"""

from __future__ import annotations

import importlib.util
import json
from typing import TYPE_CHECKING, Any

import click

from bench.cli._finite import Finite
from bench.cli._suite_options import options_named

if TYPE_CHECKING:
    from bench.predict.known import Measured

_POSITIVE = Finite(min=1e-9, max=1e9)
"""Far beyond what there is, and no figure made of it is infinite."""


@click.command(name="predict", short_help="Before a run: communication, memory per rank, whether it fits.")
@click.argument("suite", metavar="NAME|FILE")
@options_named("quick", "cases", "settings", "world", "device", "ranks_per_node", "results", "data_root")
@click.option(
    "--bus-gbps", type=_POSITIVE, metavar="GB/S",
    help="Bus bandwidth of the network in 10^9 bytes per second, as nccl-tests prints it: a link of 400 Gbit/s has 50.",
)  # fmt: skip
@click.option(
    "--latency-us", type=Finite(min=0, max=1e12), metavar="US",
    help="With --bus-gbps: microseconds of each message that waits for another; 0 unless said.",
)  # fmt: skip
@click.option(
    "--inter-bus-gbps", type=_POSITIVE, metavar="GB/S",
    help="With --bus-gbps, which is then that within a node: the bus bandwidth across nodes.",
)  # fmt: skip
@click.option(
    "--inter-latency-us", type=Finite(min=0, max=1e12), metavar="US",
    help="With --bus-gbps: microseconds of each message across nodes.",
)  # fmt: skip
@click.option("--memory", metavar="SIZE", help="What a rank has, as in 80GiB; else what is here for it.")
@click.option(
    "--tflops", type=_POSITIVE, metavar="N",
    help="10^12 floating-point operations per second that one device achieves in training.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="JSON instead of tables; bytes, seconds and fractions.")
def command(suite: str, as_json: bool, **options: Any) -> None:
    """Predict the suite NAME, or the YAML file FILE, without running it: for each case and world size what its
    communication takes, the memory of a rank, and whether that fits.

    World sizes need not be those of this machine: --world 64 --ranks-per-node 8, or --world 8x8."""
    from bench.cli._suite_options import resolve
    from bench.predict.known import machine
    from bench.predict.request import predictions
    from bench.predict.show import lines
    from bench.slots import detect

    known = machine(options, _measured(options["results"]))
    resolved = resolve(suite, options)
    found = predictions(resolved, detect(options["ranks_per_node"]), known, options["data_root"])
    words = dict.fromkeys(word for one in found for word in known.words(one.spec.device_type))
    if as_json:
        click.echo(
            json.dumps({"machine": list(words), "predictions": [one.to_json() for one in found]}, indent=1)
        )
        return
    click.echo("\n".join([*words, "", *lines(found)]))


def _measured(results: str | None) -> dict[str, Measured]:
    """By the type of device; nothing where duckdb is not installed."""
    from bench.paths import results_folder
    from bench.predict.known import Measured

    if importlib.util.find_spec("duckdb") is None:
        return {"cpu": Measured(), "cuda": Measured()}
    from analysis import known_machine

    folder = results_folder(results)
    return {kind: Measured.of(**known_machine.measured(folder, kind)) for kind in ("cpu", "cuda")}
