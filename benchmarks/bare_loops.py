"""Measure how much a step costs under bench, compared with the same step in a loop written by hand.

Ours is `Training.run` with clock and recorder, as a rank calls it, on one rank. Theirs is the plain PyTorch below:
examples by index, forward, loss, backward, optimizer, zero_grad, and nothing else. It draws noise from torch's own
generator; ours derives noise from the example. Both train the same model with the same optimizer, on one thread.

    python benchmarks/bare_loops.py [WORKLOAD ...] [--device cuda] [--seconds 30]
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import interleaved
import one_rank
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - its name everywhere

from bench.models.diffusion import TIME_STEPS, diffuse
from bench.train.loop import Training
from bench.workloads import Workload

Batch = dict[str, torch.Tensor]
Loss = Callable[[nn.Module, Batch], torch.Tensor]

_STEPS = 500_000
"""Upper limit; there are enough examples and rows for it."""
_EXAMPLES = 1_024


def classify(inputs: str, labels: str) -> Callable[[Workload, torch.device], Loss]:
    """Cross entropy of the model's output for unchanged inputs."""

    def of(_workload: Workload, _device: torch.device) -> Loss:
        return lambda model, batch: F.cross_entropy(model(batch[inputs]), batch[labels])

    return of


def texts(_workload: Workload, _device: torch.device) -> Loss:
    return lambda model, batch: F.cross_entropy(model(batch["tokens"], batch["key"]), batch["labels"])


def next_tokens(_workload: Workload, _device: torch.device) -> Loss:
    def loss(model: nn.Module, batch: Batch) -> torch.Tensor:
        tokens = batch["tokens"].long()
        logits = model(tokens[:, :-1], batch["key"])
        return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())

    return loss


def pictures(workload: Workload, _device: torch.device) -> Loss:
    """Pictures made in the step, as ours are; a loader would cost both loops the same."""

    def loss(model: nn.Module, batch: Batch) -> torch.Tensor:
        pixels: torch.Tensor = workload.pixels(batch)  # type: ignore[attr-defined]
        return F.cross_entropy(model(pixels), batch["labels"])

    return loss


def digits(workload: Workload, _device: torch.device) -> Loss:
    everything = torch.arange(workload.dataset_size)
    examples = workload.batch(everything, everything)
    deviation, mean = (float(value) for value in torch.std_mean(examples["images"].float()))

    def loss(model: nn.Module, batch: Batch) -> torch.Tensor:
        return F.cross_entropy(model((batch["images"].float() - mean) / deviation), batch["labels"])

    return loss


def diffusion(_workload: Workload, device: torch.device) -> Loss:
    def loss(model: nn.Module, batch: Batch) -> torch.Tensor:
        images = batch["images"].float() / 127.5 - 1
        mirrored = torch.rand(len(images), device=device) < 0.5
        images = torch.where(mirrored[:, None, None, None], images.flip(3), images)
        steps = torch.randint(TIME_STEPS, (len(images),), device=device)
        noise = torch.randn_like(images)
        return F.mse_loss(model(diffuse(images, noise, steps), steps, batch["key"]), noise)

    return loss


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A size at which a step takes 5 to 100 ms on one core, if the workload has one."""

    batch: int
    options: dict[str, Any] = field(default_factory=dict)
    bare: Callable[[Workload, torch.device], Loss]
    """The loss, written by hand."""


SHAPES = {
    "ddpm_unet": Shape(
        batch=8,
        options={"base_channels": 32, "channel_multipliers": (1, 2), "image_size": 16},
        bare=diffusion,
    ),
    "mnist_cnn": Shape(batch=32, bare=digits),
    "resnet50": Shape(
        batch=4,
        options={"image_size": 32, "classes": 100, "layers": (1, 1, 1, 1), "validation_examples": 0},
        bare=pictures,
    ),
    # as in suites/spiral_scaling.yaml; with its defaults and 128 points a step takes less than 1 ms
    "spiral_mlp": Shape(batch=512, options={"hidden": (256, 256, 128)}, bare=classify("points", "arms")),
    "text_classifier": Shape(
        batch=8, options={"d_model": 64, "layers": 2, "feed_forward": 256, "vocab_size": 1_000}, bare=texts
    ),
    "transformer_lm": Shape(
        batch=2, options={"preset": "1m", "layers": 2, "validation_examples": 0}, bare=next_tokens
    ),
    "vit_b_16": Shape(
        batch=4,
        options={
            "image_size": 64,
            "patch_size": 16,
            "classes": 100,
            "layers": 4,
            "heads": 4,
            "hidden_dim": 128,
            "mlp_dim": 512,
            "validation_examples": 0,
        },
        bare=pictures,
    ),
}


def theirs(loop: Training, shape: Shape) -> interleaved.Block:
    """The bare loop, on the same model and optimizer state as ours: both use the same memory."""
    count = min(_EXAMPLES, loop.workload.dataset_size)
    examples = loop.workload.batch(torch.arange(count), torch.arange(count))
    model, optimizer, device = loop.model, loop.optimizer, loop.device
    loss_of = shape.bare(loop.workload, device)
    places = _shuffled(count, shape.batch)

    def block(steps: int) -> None:
        for _ in range(steps):
            chosen = next(places)
            batch = {name: tensor[chosen].to(device) for name, tensor in examples.items()}
            loss_of(model, batch).backward()
            optimizer.step()
            optimizer.zero_grad()
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    return block


def _shuffled(count: int, batch: int) -> Iterator[torch.Tensor]:
    while True:
        yield from torch.randperm(count).split(batch)[: count // batch]


def compare(name: str, device: torch.device, seconds: float) -> interleaved.Times:
    shape = SHAPES[name]
    loop = one_rank.training(name, shape.options, batch=shape.batch, steps=_STEPS, device=device)
    with tempfile.TemporaryDirectory() as folder:
        clock = one_rank.clock(device, Path(folder), _STEPS)
        return interleaved.measure(one_rank.block(loop, clock), theirs(loop, shape), seconds=seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help="[default: all]")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--seconds", type=float, default=30, help="per workload")
    asked = parser.parse_args()
    if unknown := set(asked.workloads) - SHAPES.keys():
        parser.error(f"no shape for {', '.join(sorted(unknown))}: there are {', '.join(SHAPES)}")
    torch.set_num_threads(1)
    if asked.device == "cpu":
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])  # a rank stays on its cores too
    print(interleaved.HEAD)
    for name in asked.workloads or SHAPES:
        print(interleaved.row(name, compare(name, torch.device(asked.device), asked.seconds)), flush=True)


if __name__ == "__main__":
    main()
