"""Measure the cost of the sensor process for training: compare steps while it samples with steps while it is stopped.

Blocks of about a second of both alternate, in random order within each pair. Prints the median over pairs of the
quotient of their step times, with its 95 % bootstrap interval.

    python benchmarks/sensors.py [--seconds 60] [--device cuda]
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import tempfile
from pathlib import Path
from time import monotonic, perf_counter_ns

import interleaved
import numpy as np
import one_rank
import torch

from bench.measure.sensors.process import Sensors

_BLOCK_S = 1.0
"""Time for five samples."""
_MOST_STEPS = 500_000
_FEWEST_PAIRS = 3


def training(device: torch.device, folder: Path) -> interleaved.Block:
    """A block of steps of some milliseconds on a GPU, of about one on a CPU."""
    if device.type == "cpu":
        torch.set_num_threads(1)
        loop = one_rank.training("spiral_mlp", {}, batch=128, steps=_MOST_STEPS, device=device)
    else:
        torch.cuda.set_device(device)
        loop = one_rank.training(
            "transformer_lm", {"preset": "10m"}, batch=128, steps=_MOST_STEPS, device=device, precision="bf16",
            fused_optimizer=True,
        )  # fmt: skip
    return one_rank.block(loop, one_rank.clock(device, folder, _MOST_STEPS))


def pairs(block: interleaved.Block, sensors: Sensors, seconds: float) -> np.ndarray:
    """ns per step [pairs, 2]: with samples, without."""
    steps = _steps_of(block)
    found: list[tuple[float, float]] = []
    order, end = random.Random(0), monotonic() + seconds
    while monotonic() < end or len(found) < _FEWEST_PAIRS:
        taken = {}
        for sampling in order.sample((True, False), 2):
            os.kill(sensors.process.pid, signal.SIGCONT if sampling else signal.SIGSTOP)
            begin = perf_counter_ns()
            block(steps)
            taken[sampling] = (perf_counter_ns() - begin) / steps
        found.append((taken[True], taken[False]))
    os.kill(sensors.process.pid, signal.SIGCONT)
    return np.array(found)


def _steps_of(block: interleaved.Block) -> int:
    block(20)
    begin = perf_counter_ns()
    block(50)
    return max(1, round(50 * _BLOCK_S * 1e9 / (perf_counter_ns() - begin)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    asked = parser.parse_args()
    if asked.device == "cuda":
        one_rank.need_a_gpu(parser)
    with tempfile.TemporaryDirectory() as folder:
        sensors = Sensors.start(Path(folder) / "samples.raw")
        sensors.watch([os.getpid()])
        found = pairs(training(torch.device(asked.device, 0), Path(folder)), sensors, asked.seconds)
        sensors.stop()
        samples = len(sensors.rows_between(0, perf_counter_ns()))
    middle, low, high = interleaved.quotient(found)
    print(f"step without samples  median {np.median(found[:, 1]) / 1e3:8.1f} us  ({len(found)} pairs)")
    print(f"with / without        {middle:.4f} [{low:.4f}, {high:.4f}]  ({samples} samples)")


if __name__ == "__main__":
    main()
