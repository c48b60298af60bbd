"""A workload that goes wrong as it is told: on one rank, once a batch of a certain step is asked for."""

from __future__ import annotations

import ctypes
import math
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

_WORLD, _BATCH_PER_RANK = 2, 4
"""Of cases whose loader goes wrong."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What goes wrong, and where."""

    fault: str = "none"
    """Name of a function below."""
    at_step: int = 5
    """Optimizer step, warm-up included."""
    on_rank: int = 1
    """Rank that it happens on."""
    step_s: float = 0.0
    """Time that every step sleeps, so that a test can act meanwhile."""
    hold: str = ""
    """While there is a file of this name, rank `on_rank` waits at step `at_step`, and all others for it. Files whose
    name goes on with `.prepare` or `.stepN` hold what makes the workload ready, and that rank at another step."""
    validation_examples: int = 0
    """Examples to validate on."""


def nan() -> float:
    """What the loss is multiplied with."""
    return math.nan


def fail() -> None:
    raise RuntimeError("planted: the model did not like this batch")


def leave() -> None:
    os._exit(3)


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def crash() -> None:
    ctypes.string_at(0)


def freeze() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def python_memory() -> None:
    raise MemoryError


def tensor_memory() -> None:
    torch.empty(1 << 50)


def endless() -> None:
    time.sleep(3600)


def in_the_loader() -> None:
    """What `batch` does instead."""


class Workload:
    """One linear layer."""

    Options = Options
    sources = ("synthetic",)
    dataset_size = 10_000
    tokens_per_example = None
    validation_size = 0

    def __init__(self, options: Options, source: str, data_root: str | None, seed: int) -> None:
        self.options = options
        self.validation_size = options.validation_examples

    def prepare(self) -> None:
        self._wait(".prepare")
        self.examples = torch.randn(self.dataset_size, 4, generator=torch.Generator().manual_seed(0))

    def model(self) -> nn.Module:
        return nn.Linear(4, 1)

    def blocks(self, model: nn.Module) -> list[nn.Module]:
        return []

    def batch(self, indices: torch.Tensor, keys: torch.Tensor) -> dict[str, torch.Tensor]:
        if self.options.fault == "in_the_loader" and int(keys[0]) == self._first_key():
            endless()
        return {"x": self.examples[indices], "key": keys}

    def loss(self, model: nn.Module, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        time.sleep(self.options.step_s)
        rank, world = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)
        step = int(batch["key"][0]) // (len(batch["key"]) * world)
        if rank == self.options.on_rank:
            self._wait(f".step{step}")
            if step == self.options.at_step:
                self._wait("")
        factor = None
        if self.options.fault != "none" and step == self.options.at_step and rank == self.options.on_rank:
            factor = globals()[self.options.fault]()
        return model(batch["x"]).square().mean() * (1.0 if factor is None else factor)

    def _wait(self, moment: str) -> None:
        """For the end of the file; another beside it says that it is waited for."""
        held = Path(self.options.hold + moment)
        if self.options.hold and held.exists():
            held.with_name(f"{held.name}.reached").touch()
            while held.exists():
                time.sleep(0.02)

    def _first_key(self) -> int:
        """Of the batch where it goes wrong; a loader process knows of no ranks."""
        return (self.options.at_step * _WORLD + self.options.on_rank) * _BATCH_PER_RANK

    def validation_batch(self, indices: list[int]) -> dict[str, torch.Tensor]:
        return {"x": torch.ones(len(indices), 4)}

    def evaluate(self, model: nn.Module, batch: dict[str, torch.Tensor]) -> tuple[torch.Tensor, None]:
        return model(batch["x"]).squeeze(1).square(), None
