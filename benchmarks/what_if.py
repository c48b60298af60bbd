"""Compare what `measure.wire` says of other networks with step times that were measured on them.

On a network of one known rate (ci/network), steps with longer and shorter messages predict how much longer a step is at
other rates. Training without such steps measures it there. Prints a table of rates: predicted and measured time of a
step, in multiples of the step at the known rate, with 95 % intervals; the error; and whether the two agree, which is
whether the interval of their quotient holds 1. Then the median and the largest error, and how idle the machine was
before and after. Needs root.

    python benchmarks/what_if.py [--rate 400] [--rates 100 200 800 1600] [--repeats 5] [--rounds 10] [--waiting]

With --waiting the layers wait for a fixed time in place of computing, so that cores need not be free.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import psutil

ROOT = Path(__file__).parents[1]
BENCH = str(Path(sys.executable).parent / "bench")
WAITING = '''
import time

import torch
from torch import nn


class Wait(torch.autograd.Function):
    """The identity, which takes 10 ms forward and twice that backward, and gives its scale a gradient."""

    @staticmethod
    def forward(ctx, x, scale):
        time.sleep(0.01)
        ctx.save_for_backward(scale)
        return x

    @staticmethod
    def backward(ctx, gradient):
        time.sleep(0.02)
        (scale,) = ctx.saved_tensors
        return gradient, torch.ones_like(scale)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(2**18))

    def forward(self, x):
        return Wait.apply(x, self.scale)


class Waiting:
    dataset_size = 1024

    def __init__(self, options, source, data_root, seed):
        self.options, self.source, self.data_root, self.seed = options, source, data_root, seed

    def model(self):
        return nn.Sequential(nn.Linear(8, 8), *(Layer() for _ in range(6)))

    def batch(self, places, keys):
        return {"inputs": torch.ones(len(places), 8)}

    def loss(self, model, batch):
        return model(batch["inputs"]).mean()
'''
COMPUTING = {"name": "spiral_mlp", "hidden": [1024, 1024, 1024]}
STEP_MS = """
SELECT avg(ln(step_ms)), mean_half_width(count(*), var_samp(ln(step_ms))) FROM run_summary WHERE status = 'ok'
"""
FACTORS = "SELECT message_factor, time_ratio, time_ratio_lo, time_ratio_hi FROM what_if"


@dataclass(frozen=True)
class Estimate:
    """A time or a ratio, by its logarithm."""

    log: float
    half_width: float
    """Half of the length of its two-sided 95 % interval."""

    def __truediv__(self, other: Estimate) -> Estimate:
        return Estimate(self.log - other.log, math.hypot(self.half_width, other.half_width))

    def __str__(self) -> str:
        low, high = (math.exp(self.log + sign * self.half_width) for sign in (-1, 1))
        return f"{math.exp(self.log):.3f} [{low:.3f}, {high:.3f}]"


def of_interval(middle: float, low: float, high: float) -> Estimate:
    return Estimate(math.log(middle), math.log(high / low) / 2)


def step(database: duckdb.DuckDBPyConnection) -> Estimate:
    """Milliseconds of a measured step; the interval is over runs."""
    return Estimate(*database.execute(STEP_MS).fetchall()[0])


def idle_share() -> float:
    """Share of all CPUs that nothing uses, over two seconds."""
    return 1 - psutil.cpu_percent(2) / 100


def measure(folder: Path, mbit: int, workload: Any, protocol: dict[str, Any]) -> duckdb.DuckDBPyConnection:
    """A session of two ranks on a network of that rate; its database."""
    case = {"name": "ddp", "strategy": {"name": "ddp", "bucket_cap_mb": 1}, "scaling": "weak", "batch_per_rank": 256,
            "world": ["2x1"]}  # fmt: skip
    suite = {
        "title": "A network",
        "workload": workload,
        "device": "cpu",
        "cases": [case],
        "measure": protocol,
    }
    file = folder / f"network_{mbit}.yaml"
    file.write_text(json.dumps(suite))
    results = folder / str(mbit)
    command = [str(ROOT / "ci/network"), "--mbit", str(mbit), "--", BENCH, "suite", str(file)]
    done = subprocess.run(
        [*command, "--results", str(results)], cwd=folder, text=True, capture_output=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    return duckdb.connect(str(results / "results.duckdb"), read_only=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rate", type=int, default=400, help="Mbit/s of the network that predicts")
    parser.add_argument(
        "--rates",
        type=int,
        nargs="+",
        default=[100, 200, 800, 1600],
        help="Mbit/s of the networks that check it",
    )
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=10, help="steps of each factor in a repeat")
    parser.add_argument("--waiting", action="store_true", help="layers wait in place of computing")
    asked = parser.parse_args()
    before, begun = idle_share(), time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        workload: Any = COMPUTING
        if asked.waiting:
            (folder / "waiting.py").write_text(WAITING)
            workload = {"name": "./waiting.py:Waiting"}
        protocol = {"warmup": 3, "steps": 10, "repeats": asked.repeats, "timeout_s": 600, "selfcheck": 0}
        factors = [asked.rate / rate for rate in asked.rates]
        there = measure(
            folder, asked.rate, workload, protocol | {"wire": factors, "wire_rounds": asked.rounds}
        )
        known = step(there)
        ratios = {factor: of_interval(*ends) for factor, *ends in there.execute(FACTORS).fetchall()}
        print(f"{asked.rate} Mbit/s: {math.exp(known.log):.1f} ms; without messages {ratios[0]}\n")
        print("| Mbit/s | predicted [95 %] | measured [95 %] | error | they agree |")
        print("| --- | --- | --- | --- | --- |")
        errors, agreeing = [], []
        for rate, factor in zip(asked.rates, factors, strict=True):
            measured = step(measure(folder, rate, workload, protocol)) / known
            error = ratios[factor] / measured
            errors.append(math.expm1(error.log))
            agreeing.append(abs(error.log) <= error.half_width)
            print(
                f"| {rate} | {ratios[factor]} | {measured} | {errors[-1]:+.1%} | "
                f"{'yes' if agreeing[-1] else 'no'} |",
                flush=True,
            )
    sizes = sorted(abs(error) for error in errors)
    print(
        f"\nerror: median {statistics.median(sizes):.1%}, largest {sizes[-1]:.1%}; {sum(agreeing)} of "
        f"{len(agreeing)} agree; the machine was idle to {before:.0%} before and {idle_share():.0%} after "
        f"{time.monotonic() - begun:.0f} s"
    )


if __name__ == "__main__":
    main()
