"""A workload that fails on request: on one rank, when a batch of a certain step is requested.

It imports torch where it is called, so that `bench`, which reads its options, does not: that would take longer than
all else in a small session."""

from __future__ import annotations

import ctypes
import math
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench import workloads

if TYPE_CHECKING:
    import torch
    from torch import nn

_WORLD, _BATCH_PER_RANK = 2, 4
"""World size and batch of the cases whose loader fails."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """The fault and its place."""

    fault: str = "none"
    """Name of a function below."""
    at_step: int = 5
    """Optimizer step, warm-up included."""
    on_rank: int = 1
    """Rank with the fault."""
    step_s: float = 0.0
    """Time that every step sleeps, so that a test can act meanwhile."""
    hold: str = ""
    """While a file of this name exists, rank `on_rank` waits at step `at_step`, and all others wait for it. If the
    name continues with `.prepare` or `.stepN`, the file holds the preparation of the workload, or that rank at
    another step."""
    validation_examples: int = 0
    """Examples to validate on."""


def nan() -> float:
    """Factor for the loss."""
    return math.nan


def fail() -> None:
    raise RuntimeError("planted: the model did not like this batch")


def leave() -> None:
    os._exit(3)


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def killed_late() -> None:
    """The rank before it loses its peer half a second earlier than this one is killed."""
    time.sleep(0.5)
    killed()


def crash() -> None:
    ctypes.string_at(0)


def leave_a_daemon() -> None:
    """Its process has another parent, group and session than the rank."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execvp("sleep", ["sleep", "600"])
        os._exit(0)
    os.wait()
    raise RuntimeError("planted: a daemon is left")


def freeze() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def python_memory() -> None:
    raise MemoryError


def tensor_memory() -> None:
    import torch

    torch.empty(1 << 50)


def endless() -> None:
    time.sleep(3600)


class _NeverFlushed:
    """A log that takes text and does not return from `flush`."""

    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None:
        endless()


def stays() -> None:
    """The rank trains to the end, stores everything, and does not end."""
    sys.stdout = _NeverFlushed()  # type: ignore[assignment]


def in_the_loader() -> None:
    """Empty: `batch` has this fault instead."""


class Workload(workloads.Workload):
    """One linear layer."""

    Options = Options
    dataset_size = 10_000

    def __init__(self, options: Options, source: str, data_root: str | None, seed: int) -> None:
        super().__init__(options, source, data_root, seed)
        self.validation_size = options.validation_examples

    def prepare(self) -> None:
        import torch

        self._wait(".prepare")
        self.examples = torch.randn(self.dataset_size, 4, generator=torch.Generator().manual_seed(0))

    def model(self) -> nn.Module:
        from torch import nn

        return nn.Linear(4, 1)

    def blocks(self, model: nn.Module) -> list[nn.Module]:
        return []

    def batch(self, indices: torch.Tensor, keys: torch.Tensor) -> dict[str, torch.Tensor]:
        if self.options.fault == "in_the_loader" and int(keys[0]) == self._first_key():
            endless()
        return {"x": self.examples[indices], "key": keys}

    def loss(self, model: nn.Module, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        import torch.distributed as dist

        time.sleep(self.options.step_s)
        rank, world = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)
        step = int(batch["key"][0]) // (len(batch["key"]) * world)
        if rank == self.options.on_rank:
            self._wait(f".step{step}")
            if step == self.options.at_step:
                self._wait("")
        factor = None
        if self.options.fault == "killed_late" and (step, rank) == (
            self.options.at_step,
            self.options.on_rank - 1,
        ):
            raise RuntimeError("planted: Connection reset by peer")
        if self.options.fault != "none" and step == self.options.at_step and rank == self.options.on_rank:
            factor = globals()[self.options.fault]()
        return model(batch["x"]).square().mean() * (1.0 if factor is None else factor)

    def _wait(self, moment: str) -> None:
        """Wait until the file is gone; a second file next to it shows that the wait has begun."""
        held = Path(self.options.hold + moment)
        if self.options.hold and held.exists():
            held.with_name(f"{held.name}.reached").touch()
            while held.exists():
                time.sleep(0.02)

    def _first_key(self) -> int:
        """First example of the faulty batch; a loader process knows no ranks."""
        return (self.options.at_step * _WORLD + self.options.on_rank) * _BATCH_PER_RANK

    def validation_batch(self, indices: list[int]) -> dict[str, torch.Tensor]:
        import torch

        return {"x": torch.ones(len(indices), 4)}

    def evaluate(self, model: nn.Module, batch: dict[str, torch.Tensor]) -> tuple[torch.Tensor, None]:
        return model(batch["x"]).squeeze(1).square(), None
