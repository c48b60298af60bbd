"""Train a workload on one rank, set up as in bench/train/rank.py for strategy single."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import interleaved
import torch

from bench import strategies, workloads
from bench.data import loader
from bench.measure.clock_cpu import CpuClock
from bench.measure.recorder import StepFile
from bench.records.run_spec import DataSpec, MeasureSpec, Precision, RunSpec, TrainSpec
from bench.train.loop import Clock, Training
from bench.train.run_length import run_length


def training(
    name: str,
    options: dict[str, Any],
    *,
    batch: int,
    steps: int,
    device: torch.device,
    precision: Precision = "fp32",
    **train: Any,
) -> Training:
    """A training with AdamW on generated examples, of up to `steps` steps, all measured. `train`: more settings."""
    spec = RunSpec(
        session_id="benchmark", run_id="one", suite="benchmark", case_name="one", workload=name,
        workload_options=options, data=DataSpec(), train=TrainSpec(precision=precision, **train),
        measure=MeasureSpec(warmup=0, steps=steps), strategy="single", strategy_options={}, scaling="none",
        axis="ranks", workers=1, world_size=1, nodes=1, ranks_per_node=1, threads=1, repeat=0,
        device_type="cuda" if device.type == "cuda" else "cpu", batch_per_rank=batch, global_batch=batch,
    )  # fmt: skip
    kind = workloads.load(name)
    workload = kind(kind.Options(**options), "synthetic", None, 0)
    workload.prepare()
    single = strategies.load("single")
    strategy = single(single.Options())
    torch.manual_seed(0)
    model = strategy.wrap(workload.model(), [], device=device, precision=precision)
    return Training(
        spec=spec, workload=workload, strategy=strategy, own_model=model, model=model, device=device,
        batches=loader.batches(workload, spec, 0, steps),
        limit=run_length(spec.measure, workload.dataset_size, batch),
    )  # fmt: skip


def clock(device: torch.device, folder: Path, steps: int) -> Clock:
    """The device's clock with a recorder in `folder`, after the barrier."""
    file = StepFile(folder / "steps.raw", steps, {"rank": 0})
    if device.type == "cuda":
        from bench.measure.clock_cuda import CudaClock

        made: Clock = CudaClock(file, device)
    else:
        made = CpuClock(file)
    made.barrier()
    return made


def need_a_gpu(parser: argparse.ArgumentParser) -> None:
    """End the program with exit code 2 if there is no GPU."""
    if not torch.cuda.is_available():
        parser.error("--device cuda: torch sees no GPU here; `bench doctor` says why")


def block(loop: Training, clock: Clock) -> interleaved.Block:
    """A block of steps of the measured loop, without validation."""

    def steps(count: int) -> None:
        loop.limit = count
        loop.run(clock, lambda _step: None)  # it waits for the device at its end

    return steps
