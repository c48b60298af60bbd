"""Measure how much stamps, loss and row add to a real training step: spiral_mlp with AdamW on one thread. On a GPU the
model is transformer_lm with 10 M parameters, whose steps take some milliseconds, and the time added on the host is
measured, too.

There it first prints the host's time for each mark and for the end of a step, which has a mark.

Instrumented and bare steps alternate in pairs of random order in one process, as in a session
(bench/train/selfcheck.py), because blocks of steps hide effects under 100 us behind drift. Prints the difference of
medians with a 95 % bootstrap interval.

    python benchmarks/stamps.py [--steps 20000] [--device cuda [--batch 128]]
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import numpy as np
import one_rank
import torch

from bench.measure.recorder import MEASURED
from bench.train import selfcheck
from bench.train.loop import Training

Array = np.ndarray[Any, np.dtype[Any]]
Pair = tuple[Array, Array]
"""Bare, and instrumented."""
Times = dict[str, Pair]
HOST_STEPS = 300


def on_a_cpu(steps: int) -> Times:
    """Times from just before a step's start to just after step_done."""
    torch.set_num_threads(1)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])  # a rank stays on its cores too
    device = torch.device("cpu")
    loop = one_rank.training("spiral_mlp", {}, batch=128, steps=steps, device=device)
    return {"step": alternate(loop, device, steps)[0]}


def on_a_gpu(steps: int, batch: int) -> Times:
    """Times of the step, from idle device to idle device, and of the host, until it has launched all operations."""
    device = torch.device("cuda", 0)
    torch.cuda.set_device(device)
    loop = one_rank.training(
        "transformer_lm", {"preset": "10m"}, batch=batch, steps=steps + HOST_STEPS, device=device, precision="bf16",
        fused_optimizer=True,
    )  # fmt: skip
    step, host = alternate(loop, device, steps)
    print_host_times(loop, device)
    return {"step": step, "host": host}


def print_host_times(loop: Training, device: torch.device) -> None:
    """Print the host's median time for a mark and for the end of a step. Each step begins with the device idle: a full
    queue would block the host."""
    with tempfile.TemporaryDirectory() as folder:
        clock: Any = one_rank.clock(device, Path(folder), HOST_STEPS)
        times: dict[str, list[int]] = {}
        for name in ("mark", "step_done"):
            setattr(clock, name, noting_times(getattr(clock, name), times.setdefault(name, [])))
        for _ in range(HOST_STEPS):
            loop.step(clock, MEASURED)
            torch.cuda.synchronize(device)
        clock.flush()
    for name, of_calls in times.items():
        a_step = len(of_calls) / HOST_STEPS
        print(f"host's {name:10} median {np.median(of_calls) / 1e3:8.1f} us  ({a_step:.0f} times a step)")


def noting_times(function: Callable[..., Any], times: list[int]) -> Callable[..., Any]:
    """The function, which adds the time of each call in ns to `times`."""

    def call(*arguments: Any) -> Any:
        begin_ns = perf_counter_ns()
        found = function(*arguments)
        times.append(perf_counter_ns() - begin_ns)
        return found

    return call


def alternate(loop: Training, device: torch.device, steps: int) -> tuple[Pair, Pair]:
    """Times in ns of the whole step, from idle device to idle device, and of the host alone; each bare, then
    instrumented."""
    with tempfile.TemporaryDirectory() as folder:
        clock = one_rank.clock(device, Path(folder), steps)
        timed = list(selfcheck.alternate(loop, clock, steps // 2, seed=0))[min(500, steps // 4) :]
    whole, host = (
        tuple(
            np.array([getattr(step, end) - step.begin_ns for step in timed if step.kind == kind])
            for kind in (selfcheck.BARE, selfcheck.INSTRUMENTED)
        )
        for end in ("done_ns", "asked_ns")
    )
    return (whole[0], whole[1]), (host[0], host[1])


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
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument(
        "--batch", type=int, default=128, help="with --device cuda: examples of a step [default: 128]"
    )
    asked = parser.parse_args()
    if asked.device == "cuda":
        one_rank.need_a_gpu(parser)
    found = on_a_gpu(asked.steps, asked.batch) if asked.device == "cuda" else on_a_cpu(asked.steps)
    whole = float(np.median(found["step"][0]))
    for name, (bare, instrumented) in found.items():
        low, high = bootstrap(bare, instrumented)
        added = float(np.median(instrumented) - np.median(bare))
        print(f"bare {name:17} median {np.median(bare) / 1e3:8.1f} us  ({len(bare)} steps)")
        print(
            f"instrumented {name:9} median {np.median(instrumented) / 1e3:8.1f} us  ({len(instrumented)} steps)"
        )
        print(
            f"added {added / 1e3:24.1f} us  [{low / 1e3:.1f}, {high / 1e3:.1f}], {added / whole:.2%} of the step"
        )


if __name__ == "__main__":
    main()
