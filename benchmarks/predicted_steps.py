"""Compare the step times that `bench predict` predicts for two ranks with measured ones.

`--ranks local` trains two ranks on this machine, in rounds that alternate with timed collectives. It also predicts from
collectives that were timed back to back alone, which shows what those after computation improve. `--ranks network`
trains them on two nodes that `ci/network` joins (it needs root). Collectives are timed at the rates of `--fitted` only:
the network's lines at the rates of `--predicted`, at which ranks then train, are interpolated. Both measure one rank of
each case first, and print a table of errors, their median and the worst.

The model `waiting` waits instead of computing. On a busy machine only its steps mean something.

    python benchmarks/predicted_steps.py --ranks local [--rounds 3]
    python benchmarks/predicted_steps.py --ranks network --models waiting [--fitted 100 400 1000] [--predicted 200 700]
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import duckdb

from analysis.sql import machine_speed
from bench.machine.slots import detect
from bench.predict.machine import Machine, Measured
from bench.predict.network import Fabric, Line
from bench.predict.predict import predictions
from bench.records.run_spec import Slots
from bench.suite.resolve import load_suite
from bench.suite.selection import Selection

ROOT = Path(__file__).parents[1]
BENCH = str(Path(sys.executable).parent / "bench")
WAITING = """
import time

import torch
from torch import nn

WAIT_S = 0.02


class Wait(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        time.sleep(WAIT_S)
        ctx.save_for_backward(weight)
        return x * 1.0

    @staticmethod
    def backward(ctx, gradient):
        time.sleep(2 * WAIT_S)
        (weight,) = ctx.saved_tensors
        return gradient, torch.ones_like(weight)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(500_000))

    def forward(self, x):
        return Wait.apply(x, self.weight)


class First(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = layers

    def forward(self, _, x):
        return self.layers(x)


class Later(First):
    def forward(self, x, _):
        return self.layers(x)


class Waiting:
    dataset_size = 1024

    def model(self):
        return nn.Sequential(*(Layer() for _ in range(6)))

    def blocks(self, model):
        return list(model.children())

    def stages(self, model, count):
        each = len(model) // count
        parts = [model[each * i : each * (i + 1)] for i in range(count)]
        return [First(parts[0]), *map(Later, parts[1:])]

    def batch(self, places, keys):
        return {"x": torch.ones(len(places), 8, requires_grad=True)}

    def loss(self, model, batch):
        return model(batch["x"]).mean()
"""
"""Layers that wait for a fixed time instead of computing, so that cores need not be free."""
SIZES = {"heads": 4, "layers": 4, "sequence_length": 64, "validation_examples": 8, "tie_embeddings": False}
MODELS: dict[str, dict[str, Any]] = {
    "small": {"name": "transformer_lm", "preset": "124m", **SIZES, "d_model": 128, "vocab_size": 1024},
    "large": {"name": "transformer_lm", "preset": "124m", **SIZES, "d_model": 256, "vocab_size": 2048},
    "waiting": {"name": "./waiting.py:Waiting"},
}
STRATEGIES: dict[str, Any] = {
    "ddp": "ddp",
    "ddp_small_buckets": {"name": "ddp", "bucket_cap_mb": 2},
    "fsdp": "fsdp",
    "fsdp_grad_op": {"name": "fsdp", "reshard": "grad_op"},
}
PIPELINES: dict[str, Any] = {
    "pp": "pp",
    "pp_gpipe": {"name": "pp", "schedule": "gpipe"},
    "pp_zero_bubble": {"name": "pp", "schedule": "zero_bubble"},
}
MEASURED = """
SELECT case_name, nodes, median(examples_per_step / throughput), count(*), stddev(step_ms_mean) / avg(step_ms_mean)
FROM run_summary WHERE status = 'ok' AND world_size = 2 AND throughput IS NOT NULL AND strategy <> 'process_group'
GROUP BY ALL
"""


BACK_TO_BACK = ("--set", "workload.after_computation=false")
COLLECTIVES = (
    "--repeats", "1", "--set", "workload.smallest_bytes=16384", "--set", "workload.largest_bytes=4194304",
    "--set", "workload.factor=4", "--set", "measure.warmup=2", "--set", "measure.steps=8",
)  # fmt: skip
"""The sizes that training sends."""


@dataclass(frozen=True)
class Row:
    network: str
    case: str
    predicted_s: float
    measured_s: float
    repeats: int
    spread: float
    back_to_back_s: float | None = None
    """Predicted from collectives back to back."""

    @property
    def error(self) -> float:
        return self.predicted_s / self.measured_s - 1

    @property
    def back_to_back_error(self) -> float | None:
        return None if self.back_to_back_s is None else self.back_to_back_s / self.measured_s - 1


def suite(models: list[str], steps: int) -> dict[str, Any]:
    cases = [
        {
            "name": f"{model}_{name}",
            "workload": MODELS[model],
            "strategy": strategy,
            "scaling": "weak",
            "batch_per_rank": 8,
            "world": [1, 2],
        }
        for model in models
        for name, strategy in STRATEGIES.items()
    ] + [
        {
            "name": f"{model}_{name}",
            "workload": MODELS[model],
            "strategy": strategy,
            "scaling": "none",
            "batch_per_rank": 8,
            "world": [ranks],
            "train": {"accumulate": 4},
        }
        for model in models
        for ranks, strategies in ((1, {"single_accumulated": "single"}), (2, PIPELINES))
        for name, strategy in strategies.items()
        # torch would call the backward of a layer that waits twice: for the gradient of its input and of its weights
        if (model, name) != ("waiting", "pp_zero_bubble")
    ]
    return {
        "title": "Predicted steps",
        "workload": MODELS[models[0]],
        "train": {"precision": "fp32", "optimizer": "sgd"},
        "device": "cpu",
        "measure": {"warmup": 4, "steps": steps, "repeats": 1, "timeout_s": 300},
        "cases": cases,
    }


def bench(results: Path, *arguments: str, mbit: int | None = None) -> None:
    before = [] if mbit is None else [str(ROOT / "ci" / "network"), "--mbit", str(mbit), "--"]
    command = [*before, BENCH, "suite", *arguments, "--results", str(results)]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True, cwd=ROOT)


def measured(results: Path) -> dict[str, tuple[float, int, float]]:
    """By case: seconds of a step on two ranks, repeats, and their coefficient of variation."""
    with duckdb.connect(str(results / "results.duckdb"), read_only=True) as database:
        rows = database.execute(MEASURED).fetchall()
    return {case: (step_s, repeats, cv or 0.0) for case, _, step_s, repeats, cv in rows}


def predicted(file: Path, known: Measured, world: str) -> dict[str, float]:
    """By case: seconds of a step on two ranks."""
    nodes, ranks = map(int, world.split("x"))
    cpus = detect().cpus_per_node // nodes
    here = Slots(nodes=nodes, slots_per_node=ranks, cpus_per_node=cpus, device_type="cpu", fixed=True)
    machine = Machine(
        fabrics={"cpu": Fabric(lines=known.lines, source="", trees=False)},
        measured={"cpu": known},
        given_tflops=None,
        given_memory_bytes=None,
        cpus_per_node=cpus,
    )
    found = predictions(load_suite(str(file), Selection(world=world)), here, machine, None)
    return {
        one.spec.case_name: one.time.step_s
        for one in found
        if one.time is not None and one.time.step_s is not None
    }


def known(results: Path) -> Measured:
    return Measured.of(**machine_speed.measured(results, "cpu"))


def interpolated(lines: dict[int, tuple[Line, ...]], mbit: int) -> tuple[Line, ...]:
    """Lines at another rate: latency, time per byte and CPU time per byte are straight lines over 1 ÷ rate, fitted to
    all rates by least squares."""
    found = []
    for one in next(iter(lines.values())):
        same = {
            rate: next(line for line in every if (line.op, line.nodes) == (one.op, one.nodes))
            for rate, every in lines.items()
        }

        def at(values: dict[int, float]) -> float:
            rates = [1 / rate for rate in values]
            fit = statistics.linear_regression(rates, list(values.values()))
            return max(0.0, fit.intercept + fit.slope / mbit)

        latency = "latency_s" if one.latency_s is not None else "step_latency_s"
        per_byte_s = at({rate: 1 / line.bus_bytes_per_s for rate, line in same.items()})
        cpu_s = at({rate: (line.cpu_cores or 0.0) / line.bus_bytes_per_s for rate, line in same.items()})
        changed: dict[str, Any] = {
            latency: at({rate: getattr(line, latency) for rate, line in same.items()}),
            "bus_bytes_per_s": 1 / per_byte_s,
            "cpu_cores": cpu_s / per_byte_s,
        }
        found.append(dataclasses.replace(one, **changed))
    return tuple(found)


def rows_on_this_machine(folder: Path, file: Path, rounds: int) -> Iterator[Row]:
    alone = folder / "back_to_back"
    for _ in range(rounds):
        bench(folder, str(file), "--world", "1,2")
        bench(folder, "collectives", "--case", "all", "--world", "2", *COLLECTIVES)
        bench(alone, "collectives", "--case", "all", "--world", "2", *COLLECTIVES, *BACK_TO_BACK)
    found = known(folder)
    ours, theirs = predicted(file, found, "1x2"), measured(folder)
    before = predicted(file, dataclasses.replace(found, lines=known(alone).lines), "1x2")
    yield from (Row("local", case, ours[case], *theirs[case], before[case]) for case in ours)


def rows_on_a_network(
    folder: Path, file: Path, fitted: list[int], tried: list[int], rounds: int
) -> Iterator[Row]:
    for _ in range(rounds):
        bench(folder, str(file), "--world", "1")
        for mbit in fitted:
            of_network = ("collectives", "--case", "across_nodes", "--world", "2x1")
            bench(folder / str(mbit), *of_network, *COLLECTIVES, mbit=mbit)
        for mbit in tried:
            bench(folder / str(mbit), str(file), "--world", "2x1", mbit=mbit)
    alone = known(folder)
    lines = {mbit: known(folder / str(mbit)).lines for mbit in fitted}
    for mbit in tried:
        at_rate = dataclasses.replace(alone, lines=interpolated(lines, mbit))
        ours, theirs = predicted(file, at_rate, "2x1"), measured(folder / str(mbit))
        yield from (Row(f"{mbit} Mbit/s", case, ours[case], *theirs[case]) for case in ours)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ranks", choices=["local", "network"], default="local")
    parser.add_argument("--models", choices=MODELS, nargs="+", default=["small", "large"])
    parser.add_argument("--fitted", type=int, nargs="+", default=[100, 400, 1000], help="Mbit/s")
    parser.add_argument("--predicted", type=int, nargs="+", default=[200, 700], help="Mbit/s")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=10, help="measured, of each run")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "waiting.py").write_text(WAITING)
        file = folder / "steps.yaml"
        file.write_text(json.dumps(suite(asked.models, asked.steps)))
        if asked.ranks == "local":
            rows = list(rows_on_this_machine(folder, file, asked.rounds))
        else:
            rows = list(rows_on_a_network(folder, file, asked.fitted, asked.predicted, asked.rounds))
    print(
        "| network | case | predicted ms | measured ms | error | error back to back | spread of the measured |"
    )
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for row in rows:
        back_to_back = "" if row.back_to_back_error is None else f"{row.back_to_back_error:+.0%}"
        print(
            f"| {row.network} | {row.case} | {1e3 * row.predicted_s:.0f} | {1e3 * row.measured_s:.0f} | "
            f"{row.error:+.0%} | {back_to_back} | {row.spread:.0%} over {row.repeats} |"
        )
    for strategy in ("ddp", "fsdp", "pp", ""):
        of_strategy = [row for row in rows if strategy in row.case]
        errors = [abs(row.error) for row in of_strategy]
        before = [abs(row.back_to_back_error) for row in of_strategy if row.back_to_back_error is not None]
        print(
            f"{strategy or 'all'}: median error {median(errors):.0%}, worst {max(errors):.0%}"
            + (f"; back to back {median(before):.0%}, worst {max(before):.0%}" if before else "")
        )


if __name__ == "__main__":
    main()
