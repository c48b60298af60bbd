"""Optimizers and learning-rate schedules, and the moving average of the parameters (`train.ema_decay`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.distributed.tensor import DTensor
from torch.optim.lr_scheduler import LambdaLR, LRScheduler, MultiStepLR

from bench.common.error_text import describe
from bench.common.torch_private import foreach_lerp_
from bench.records.run_spec import TrainSpec

_KINDS: dict[str, type[torch.optim.Optimizer]] = {
    "adamw": torch.optim.AdamW,
    "adam": torch.optim.Adam,
    "sgd": torch.optim.SGD,
}


def build(model: nn.Module, train: TrainSpec) -> torch.optim.Optimizer:
    """The suite's optimizer of a model, whose parameters the strategy has distributed. Torch's defaults hold for
    settings that the suite does not give. Raises torch's errors about `optimizer_options`."""
    options: dict[str, Any] = {"lr": train.learning_rate, **train.optimizer_options}
    if train.fused_optimizer:
        options["fused"] = True  # never False: that would also forbid torch's foreach implementation
    if train.optimizer == "sgd":
        options["momentum"] = train.momentum
    if train.weight_decay is not None:
        options["weight_decay"] = train.weight_decay
    return _KINDS[train.optimizer](model.parameters(), **options)


def schedule(optimizer: torch.optim.Optimizer, train: TrainSpec, steps: int) -> LRScheduler | None:
    """The learning-rate schedule, to be stepped once per optimizer step; null if it is constant. `steps`: warm-up and
    measured steps of the run, at which `linear` and `cosine` end unless the suite gives total_steps. Raises torch's
    errors about `lr_schedule_options`."""
    if train.lr_schedule == "constant":
        return None
    if train.lr_schedule == "MultiStepLR":
        return MultiStepLR(optimizer, **train.lr_schedule_options)
    return LambdaLR(optimizer, _factor(train, train.total_steps or steps))


def problem(train: TrainSpec) -> str | None:
    """Why torch refuses `optimizer_options` or `lr_schedule_options`; null if it accepts both."""
    refused = f"train.optimizer_options: {_KINDS[train.optimizer].__name__}"
    try:
        made = build(nn.Linear(1, 1), train)
        refused = f"train.lr_schedule_options: {train.lr_schedule}"
        schedule(made, train, 1)
    except Exception as error:  # torch may raise anything
        return f"{refused} raised {describe(error)}"
    return None


def _factor(train: TrainSpec, total: int) -> Callable[[int], float]:
    """Learning rate of a step, in units of the peak."""

    def factor(step: int) -> float:
        if step < train.warmup_steps:
            return (step + 1) / train.warmup_steps
        if train.lr_schedule == "linear_warmup" or total <= train.warmup_steps:
            return 1.0
        done = min(1.0, (step - train.warmup_steps) / (total - train.warmup_steps))
        return 1.0 - done if train.lr_schedule == "linear" else 0.5 * (1.0 + math.cos(math.pi * done))

    return factor


class Ema:
    """Exponential moving averages of the parameters that the optimizer holds.

    They start as the model's initial parameters. After every optimizer step, average = decay x average + (1 - decay) x
    parameter. Each rank averages the parameters that it holds, the whole model under DDP and its shard under FSDP,
    without communication. Buffers, such as the statistics of BatchNorm, are not averaged."""

    @torch.no_grad()
    def __init__(self, optimizer: torch.optim.Optimizer, decay: float) -> None:
        self._optimizer = optimizer
        self._weight = 1.0 - decay
        self.averages = [parameter.clone() for parameter in self._parameters()]
        """In the optimizer's order, each with the shape of this rank's part."""

    @torch.no_grad()
    def update(self) -> None:
        """Call it after an optimizer step."""
        foreach_lerp_(self.averages, self._parameters(), self._weight)

    @contextmanager
    def in_place_of_parameters(self) -> Iterator[None]:
        """Inside, the model has the averages; afterwards its own parameters, bit for bit.

        After an error inside, which ends the run, nothing is put back: that may fail too, for example for lack of
        memory, and would hide the first error."""
        self._swap()
        yield
        self._swap()

    @torch.no_grad()
    def _swap(self) -> None:
        for average, parameter in zip(self.averages, self._parameters(), strict=True):
            kept = average.clone()  # one parameter at a time: a second copy of the model may not fit
            average.copy_(parameter)
            parameter.copy_(kept)

    def _parameters(self) -> list[torch.Tensor]:
        """Looked up on each call: FSDP may move a shard to other storage.

        Callers disable gradients, so a DTensor gives its local tensor directly; detach() would go through dispatch."""
        parameters = (one for group in self._optimizer.param_groups for one in group["params"])
        return [each.to_local() if isinstance(each, DTensor) else each.detach() for each in parameters]
