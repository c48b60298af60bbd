"""Losses that a workload names besides the one it trains: parts of a sum, such as a divergence, or another model's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from bench.measure.rank_tables import TABLES

TRAINED = "loss"
"""The key of the loss that is trained and recorded."""
LONGEST_NAME = 32
"""Characters; the column's width in a rank's file."""


def trained(answer: Any) -> Any:
    """The loss to train, from what `Workload.loss` returns: a tensor, or a dict of tensors with the key `loss`."""
    return answer.get(TRAINED) if isinstance(answer, dict) else answer


def problem(answer: Mapping[Any, Any]) -> str | None:
    """Why a dict of losses cannot be kept; null if it can."""
    if TRAINED not in answer:
        return f"returned the losses {', '.join(map(str, answer)) or 'of an empty dict'}: name the one to train `loss`"
    for name, loss in answer.items():
        if not isinstance(name, str) or not name.isascii() or not 0 < len(name) <= LONGEST_NAME:
            return f"names a loss {name!r}: give a name of 1 to {LONGEST_NAME} ASCII characters"
        if not isinstance(loss, torch.Tensor) or loss.shape != ():
            return f"returned the loss {name} as {_kind(loss)}: give one scalar tensor"
    return None


def _kind(value: Any) -> str:
    return f"shape {list(value.shape)}" if isinstance(value, torch.Tensor) else type(value).__name__


class NamedLosses:
    """The losses of every training step. They are stored as soon as the step's row is, so that a rank that is killed
    loses none of them; no step waits for the device."""

    def __init__(
        self, steps: int, device: torch.device, keep: Callable[[np.ndarray[Any, np.dtype[Any]]], None]
    ) -> None:
        """`keep` stores rows of the table `named_losses`, in the order of steps."""
        self._steps = steps
        self._device = device
        self._keep = keep
        self._values: dict[str, torch.Tensor] = {}
        """By name, [steps] float32 on the host, page-locked for a GPU; NaN where a step did not name it."""
        self._stored = 0
        """Number of steps whose losses are stored."""
        self._sums: dict[str, torch.Tensor] = {}
        """Sums over the micro-batches of the current step."""
        self._step = 0
        self._known: set[str] = {TRAINED}

    def add(self, answer: Mapping[str, torch.Tensor]) -> None:
        """Add the losses of one of the step's micro-batches. Raises ValueError if a new one cannot be kept."""
        if not self._known.issuperset(answer):
            if reason := problem(answer):
                raise ValueError(f"the workload {reason}")
            self._known.update(answer)
        for name, loss in answer.items():
            if name != TRAINED:
                # a sum is a tensor of its own: CUDA graphs overwrite what they returned
                self._sums[name] = self._sums[name] + loss.detach() if name in self._sums else loss.detach()

    def step_done(self, micro_batches: int) -> None:
        """Send the step's means to the host; call it after the step, and before the clock's `step_done`. Steps after
        the training's are not kept."""
        if self._sums and self._step < self._steps:
            for name, loss in self._sums.items():
                if name not in self._values:
                    on_gpu = self._device.type == "cuda"
                    self._values[name] = torch.full((self._steps,), torch.nan, pin_memory=on_gpu)
                self._values[name][self._step].copy_(loss / micro_batches, non_blocking=True)
        self._sums.clear()
        self._step += 1

    def store(self, completed: int) -> None:
        """Store the losses of the first `completed` steps that are not stored yet. The device has passed these steps.
        A loss has no rows of steps before the first that named it."""
        completed = min(completed, self._steps)
        if completed <= self._stored:
            return
        if self._values:
            rows = np.empty((completed - self._stored, len(self._values)), TABLES["named_losses"])
            rows["step"] = np.arange(self._stored, completed)[:, np.newaxis]
            for column, (name, values) in enumerate(self._values.items()):
                rows["name"][:, column] = name
                rows["loss"][:, column] = values[self._stored : completed].numpy()
            self._keep(rows.ravel())
        self._stored = completed
