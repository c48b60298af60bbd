"""What stamps, loss and row add to a real training step: spiral_mlp with AdamW on one thread.

Instrumented and bare steps alternate step by step in random order inside one process, because blocks of steps hide
effects under 100 us behind drift. Printed: the difference of medians with a 95 % bootstrap interval.

    python benchmarks/stamps.py [--steps 20000]
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
from pathlib import Path
from time import perf_counter_ns

import numpy as np
import one_rank
import torch

from bench.measure.recorder import MEASURED


class NoClock:
    """The same calls, doing nothing: what is left is the loop itself."""

    def barrier(self) -> None: ...
    def mark(self) -> None: ...
    def step_done(self, marks: list[None], loss: torch.Tensor, kind: int) -> None: ...
    def flush(self) -> None: ...


def measure(steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Whole-step times in ns, from just before start to just after step_done: (bare, instrumented)."""
    torch.set_num_threads(1)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])  # a rank stays on its cores too
    loop = one_rank.training("spiral_mlp", {}, batch=128, steps=steps, device=torch.device("cpu"))
    with tempfile.TemporaryDirectory() as folder:
        clock = one_rank.clock(torch.device("cpu"), Path(folder), steps)
        clocks = (NoClock(), clock)
        times: tuple[list[int], list[int]] = ([], [])
        order = random.Random(0)
        for step in range(steps):
            which = order.randrange(2)
            begin = perf_counter_ns()
            loop.step(clocks[which], MEASURED)
            taken = perf_counter_ns() - begin
            if step >= 500:
                times[which].append(taken)
    return np.array(times[0]), np.array(times[1])


def bootstrap(bare: np.ndarray, instrumented: np.ndarray, draws: int = 1000) -> tuple[float, float]:
    """95 % interval of the difference of medians, in ns."""
    rng = np.random.default_rng(0)
    differences = [
        np.median(rng.choice(instrumented, len(instrumented))) - np.median(rng.choice(bare, len(bare)))
        for _ in range(draws)
    ]
    low, high = np.quantile(differences, [0.025, 0.975])
    return float(low), float(high)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20_000)
    bare, instrumented = measure(parser.parse_args().steps)
    low, high = bootstrap(bare, instrumented)
    added = float(np.median(instrumented) - np.median(bare))
    print(f"bare step          median {np.median(bare) / 1e3:8.1f} us  ({len(bare)} steps)")
    print(f"instrumented step  median {np.median(instrumented) / 1e3:8.1f} us  ({len(instrumented)} steps)")
    print(f"added              {added / 1e3:8.1f} us  [{low / 1e3:.1f}, {high / 1e3:.1f}]")
    print(f"                   {added / np.median(bare):8.2%} of the step")


if __name__ == "__main__":
    main()
