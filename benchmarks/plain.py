"""Code that all comparisons of models share: options, threads, precision, blocks of steps."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import interleaved
import torch
from torch import nn


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32", help="bf16 by autocast")
    parser.add_argument("--threads", type=int, default=1, help="of the CPU; it keeps to as many cores")


def settle(asked: argparse.Namespace) -> None:
    """Set the process's threads and cores as requested."""
    torch.set_num_threads(asked.threads)
    if asked.device == "cpu":
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-asked.threads :])


def autocast(device: str, precision: str) -> AbstractContextManager[object]:
    return nullcontext() if precision == "fp32" else torch.autocast(device, dtype=torch.bfloat16)


def block(step: Callable[[], None], device: str) -> interleaved.Block:
    def steps(count: int) -> None:
        for _ in range(count):
            step()
        if device == "cuda":
            torch.cuda.synchronize()

    return steps


def parameters(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())
