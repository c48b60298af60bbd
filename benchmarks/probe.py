"""Measure what the probe of `bench run` adds to a training script: the script with it and without it, in turn.

Each pair is two processes in random order, one with the probe and one without. Both take the same steps on one thread;
the time of a process is the median of its steps. Prints the quotient of the two times with its 95 % interval over the
pairs (Student's t on logarithms), and the difference of a step with its own interval. With `--against`, the other
process has another probe: the folder `bench/probe` of an older checkout.

    python benchmarks/probe.py [--pairs 12] [--size short|longer]... [--steps N] [--against FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy import stats

from bench.command.rank import PROBE_FOLDER

_SCRIPT = """
import statistics, sys, time
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
layers, steps = map(int, sys.argv[1:])
batch = 8
torch.manual_seed(0)
torch.set_num_threads(1)
data = TensorDataset(torch.randn(batch * (steps + 60), 64), torch.randint(0, 10, (batch * (steps + 60),)))
net = nn.Sequential(*(part for _ in range(layers) for part in (nn.Linear(64, 64), nn.ReLU())), nn.Linear(64, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
ends = []
for step, (batch, targets) in enumerate(DataLoader(data, batch_size=batch)):
    if step == 50 + steps:
        print(statistics.median(later - earlier for earlier, later in zip(ends[50:], ends[51:])) / 1e3)
        break
    loss = nn.functional.cross_entropy(net(batch), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    ends.append(time.perf_counter_ns())
"""
_SIZES = {"short": (2, 4_000), "longer": (100, 500)}
"""Hidden layers of the model, and steps. Small layers: the time of large products differs more between processes."""


def step_us(script: Path, size: tuple[int, int], probe: Path | None) -> float:
    """The median step in microseconds, with the probe of that folder; null: without one."""
    environment = {name: value for name, value in os.environ.items() if name != "BENCH_PROBE"}
    with tempfile.TemporaryDirectory() as scratch:
        if probe is not None:
            job = {
                "scratch": scratch, "rank": 0, "identity": {}, "warmup": 5, "steps": 100_000, "profiled": 0,
                "pairs": 0, "seed": 0, "trace": False, "step_optimizer": None, "examples_per_step": None,
            }  # fmt: skip
            environment |= {"BENCH_PROBE": json.dumps(job), "PYTHONPATH": str(probe)}
        command = [sys.executable, str(script), *map(str, size)]
        done = subprocess.run(command, env=environment, text=True, capture_output=True, check=True)
        if probe is not None and not list(Path(scratch).glob("outcome.*")):
            raise RuntimeError(f"the probe has recorded nothing: {done.stderr}")
    return float(done.stdout)


def interval(quotients: np.ndarray) -> tuple[float, float, float]:
    """The geometric mean, and its 95 % interval."""
    logarithms = np.log(quotients)
    half = stats.t.ppf(0.975, len(quotients) - 1) * logarithms.std(ddof=1) / len(quotients) ** 0.5
    middle = logarithms.mean()
    return float(np.exp(middle)), float(np.exp(middle - half)), float(np.exp(middle + half))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--size", choices=_SIZES, action="append", help="of the steps [default: both]")
    parser.add_argument("--steps", type=int, help="of a process [default: 4,000 short ones, 500 longer ones]")
    parser.add_argument("--against", type=Path, help="another probe, in place of none")
    asked = parser.parse_args()
    pairs = asked.pairs
    order = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script.py"
        script.write_text(_SCRIPT)
        for name in asked.size or _SIZES:
            layers, steps = _SIZES[name]
            size = layers, asked.steps or steps
            found = []
            for _ in range(pairs):
                probes = order.sample((PROBE_FOLDER, asked.against), 2)
                taken = {probe: step_us(script, size, probe) for probe in probes}
                found.append((taken[PROBE_FOLDER], taken[asked.against]))
            rows = np.array(found)
            ratio, low, high = interval(rows[:, 0] / rows[:, 1])
            more = rows[:, 0] - rows[:, 1]
            half = stats.t.ppf(0.975, pairs - 1) * more.std(ddof=1) / pairs**0.5
            print(
                f"{name} steps: {np.median(rows[:, 1]):,.0f} µs with {asked.against or 'no probe'}, "
                f"{more.mean():+.1f} µs [{more.mean() - half:+.1f}, {more.mean() + half:+.1f}] with the probe here "
                f"(mean of {pairs} pairs); quotient {ratio:.4f} [{low:.4f}, {high:.4f}]"
            )


if __name__ == "__main__":
    main()
