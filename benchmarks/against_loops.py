"""Compare the cost of other loops and profilers per training step with the cost of scalebench's stamps.

All loops train one model with one optimizer on the same batches, in one process. A bare PyTorch loop is compared with
each of: scalebench's recorder, accelerate, Lightning's Trainer (with its defaults, and with its SimpleProfiler),
transformers' Trainer that logs every step, and torch.profiler around every step. Blocks of the bare loop and of one
other loop alternate in random order. For all loops, a step is the time from one request for a batch to the next. It
excludes the work that a Trainer does once, at the start and the end of its fit() or train().

    uv sync --all-extras --group dev --group perturbation
    python benchmarks/against_loops.py [NAME ...] [--workload mnist_cnn] [--seconds 30]
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter_ns, process_time_ns
from typing import Any

import bare_loops
import interleaved
import numpy as np
import one_rank
import torch
from torch import nn

_STEPS = 500_000
"""Upper limit; no run takes that many."""
_OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "WANDB_DISABLED": "true",
}
"""Set before the libraries are imported, so that none of them uses the network."""
_BLOCK_STEPS = 15
_SETTLING = 3
"""Steps of a block that are not counted, because a Trainer does extra work at its first ones."""
_FEWEST_PAIRS = 5


@dataclass(kw_only=True)
class Work:
    """The model, optimizer and data that every loop trains with."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    loss: Callable[[nn.Module, dict[str, torch.Tensor]], torch.Tensor]
    batches: list[dict[str, torch.Tensor]]
    """Made in advance: loading is not part of the comparison."""
    folder: Path
    asked_ns: list[tuple[int, int]] = field(default_factory=list)
    """Wall-clock time and processor time at which each batch was requested."""

    def first(self, count: int) -> Iterator[dict[str, torch.Tensor]]:
        """Yield `count` batches; start again after the last."""
        for number in range(count):
            self.asked_ns.append((perf_counter_ns(), process_time_ns()))
            yield self.batches[number % len(self.batches)]


Block = Callable[[int], None]


def bare(work: Work) -> Block:
    def block(steps: int) -> None:
        for batch in work.first(steps):
            work.loss(work.model, batch).backward()
            work.optimizer.step()
            work.optimizer.zero_grad()

    return block


def recorder(work: Work) -> Block:
    """The bare loop with scalebench's stamps, loss and row."""
    clock = one_rank.clock(torch.device("cpu"), work.folder, _STEPS)

    def block(steps: int) -> None:
        batches = work.first(steps)
        for _ in range(steps):
            marks = [clock.mark()]
            batch = next(batches)
            marks.append(clock.mark())
            loss = work.loss(work.model, batch)
            marks.append(clock.mark())
            loss.backward()
            marks.append(clock.mark())
            work.optimizer.step()
            work.optimizer.zero_grad()
            marks.append(clock.mark())
            clock.step_done(marks, loss.detach(), 2)

    return block


def accelerate(work: Work) -> Block:
    """The loop as in accelerate's manual."""
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    model, optimizer = accelerator.prepare(work.model, work.optimizer)

    def block(steps: int) -> None:
        for batch in work.first(steps):
            with accelerator.accumulate(model):
                accelerator.backward(work.loss(model, batch))
                optimizer.step()
                optimizer.zero_grad()

    return block


def profiler(work: Work) -> Block:
    """torch.profiler around each step, with its step(); the trace is discarded at the end of a block."""

    def block(steps: int) -> None:
        every = torch.profiler.schedule(wait=0, warmup=0, active=1)
        with torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU], schedule=every, on_trace_ready=lambda _: None
        ) as profile:
            for batch in work.first(steps):
                work.loss(work.model, batch).backward()
                work.optimizer.step()
                work.optimizer.zero_grad()
                profile.step()

    return block


class Examples(torch.utils.data.IterableDataset[dict[str, torch.Tensor]]):
    """The batches as a data set without further batching."""

    def __init__(self, work: Work, count: int) -> None:
        self.work, self.count = work, count

    def __iter__(self) -> Iterator[dict[str, torch.Tensor]]:
        return self.work.first(self.count)


def lightning(work: Work, profiler: str | None = None) -> Block:
    """Lightning's Trainer with its default callbacks (progress bar, summary, checkpoints) and its CSV logger."""
    from lightning.pytorch import LightningModule, Trainer
    from lightning.pytorch.loggers import CSVLogger

    class Module(LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.model = work.model

        def training_step(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
            loss = work.loss(self.model, batch)
            self.log("loss", loss, prog_bar=True)
            return loss

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return work.optimizer

    module = Module()

    def block(steps: int) -> None:
        trainer = Trainer(
            accelerator="cpu", max_steps=steps, profiler=profiler, logger=CSVLogger(work.folder),
            default_root_dir=work.folder, enable_model_summary=False,
        )  # fmt: skip
        loader = torch.utils.data.DataLoader(Examples(work, steps), batch_size=None)
        trainer.fit(module, loader)

    return block


def transformers(work: Work) -> Block:
    """Hugging Face's Trainer, which logs every step."""
    from transformers import Trainer, TrainingArguments

    class Ours(Trainer):
        def compute_loss(self, model: nn.Module, inputs: Any, *_: Any, **__: Any) -> torch.Tensor:
            return work.loss(model, inputs)

    def block(steps: int) -> None:
        arguments = TrainingArguments(
            output_dir=str(work.folder / "hf"), max_steps=steps, logging_steps=1, report_to=[], use_cpu=True,
            save_strategy="no", disable_tqdm=True, max_grad_norm=0.0, remove_unused_columns=False,
            per_device_train_batch_size=1,
        )  # fmt: skip
        trainer = Ours(
            model=work.model, args=arguments, train_dataset=Examples(work, steps),
            data_collator=lambda batch: batch[0], optimizers=(work.optimizer, _constant(work.optimizer)),
        )  # fmt: skip
        trainer.train()

    return block


def _constant(optimizer: torch.optim.Optimizer) -> torch.optim.lr_scheduler.LRScheduler:
    return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: 1.0)


def simple_profiler(work: Work) -> Block:
    return lightning(work, "simple")


WAYS: dict[str, tuple[str, Callable[[Work], Block]]] = {
    "recorder": ("scalebench's recorder", recorder),
    "accelerate": ("accelerate's loop", accelerate),
    "lightning": ("Lightning's Trainer", lightning),
    "simple_profiler": ("Lightning, SimpleProfiler", simple_profiler),
    "transformers": ("transformers' Trainer", transformers),
    "torch_profiler": ("torch.profiler", profiler),
}


def compare(work: Work, way: Block, seconds: float) -> interleaved.Times:
    """Times of pairs of blocks for `seconds`, at least five; the first pair is the warm-up."""
    order, begin = random.Random(0), perf_counter_ns()
    pairs: list[tuple[tuple[float, float], ...]] = []
    ways = (way, bare(work))
    while (perf_counter_ns() - begin) / 1e9 < seconds or len(pairs) <= _FEWEST_PAIRS:
        taken = {which: _a_step(work, ways[which]) for which in order.sample((0, 1), 2)}
        pairs.append((taken[0], taken[1]))
    times = np.array(pairs[1:])
    return interleaved.Times(wall=times[:, :, 0], processor=times[:, :, 1], block=_BLOCK_STEPS)


def _a_step(work: Work, block: Block) -> tuple[float, float]:
    """Mean over a block, without its first steps, in ns: wall-clock time, and processor time."""
    work.asked_ns.clear()
    block(_BLOCK_STEPS)
    first, last = np.array(work.asked_ns)[[_SETTLING, _BLOCK_STEPS - 1]]
    wall, processor = (last - first) / (_BLOCK_STEPS - 1 - _SETTLING)
    return float(wall), float(processor)


def work_of(name: str, folder: Path) -> Work:
    shape = bare_loops.SHAPES[name]
    loop = one_rank.training(name, shape.options, batch=shape.batch, steps=1, device=torch.device("cpu"))
    count = min(64 * shape.batch, loop.workload.dataset_size) // shape.batch * shape.batch
    places = torch.arange(count)
    examples = loop.workload.batch(places, places)
    batches = [
        {key: tensor[at : at + shape.batch] for key, tensor in examples.items()}
        for at in range(0, count, shape.batch)
    ]
    loss = shape.bare(loop.workload, torch.device("cpu"))
    [optimizer] = loop.optimizers
    return Work(model=loop.model, optimizer=optimizer, loss=loss, batches=batches, folder=folder)


def main() -> None:
    os.environ.update(_OFFLINE)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(WAYS)} [default: all]")
    parser.add_argument("--workload", choices=sorted(bare_loops.SHAPES), default="mnist_cnn")
    parser.add_argument("--seconds", type=float, default=30, help="per row")
    asked = parser.parse_args()
    if unknown := set(asked.names) - WAYS.keys():
        parser.error(f"no {', '.join(sorted(unknown))}: there are {', '.join(WAYS)}")
    warnings.filterwarnings("ignore")
    for logger in ("lightning.pytorch", "lightning.fabric", "transformers"):
        logging.getLogger(logger).addFilter(lambda record: record.levelno >= logging.ERROR)
    torch.set_num_threads(1)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])
    print(f"{asked.workload}, load {os.getloadavg()[0]:.0f}; first: the named loop, second: the bare loop")
    print(interleaved.HEAD)
    for name in asked.names or WAYS:
        label, way = WAYS[name]
        with tempfile.TemporaryDirectory() as folder:
            work = work_of(asked.workload, Path(folder))
            times = compare(work, way(work), asked.seconds)
        print(interleaved.row(label, times), flush=True)


if __name__ == "__main__":
    main()
