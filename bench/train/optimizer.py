"""Optimizers and learning-rate schedules by name."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch.optim.lr_scheduler import LambdaLR

from bench.records.run_spec import TrainSpec

_CLASSES: dict[str, type[torch.optim.Optimizer]] = {
    "adamw": torch.optim.AdamW,
    "adam": torch.optim.Adam,
    "sgd": torch.optim.SGD,
}


def build(parameters: Iterable[torch.nn.Parameter], train: TrainSpec) -> torch.optim.Optimizer:
    """The optimizer of a suite, with torch's defaults but for what the suite says."""
    said: dict[str, Any] = {"lr": train.learning_rate}
    if train.fused_optimizer:
        said["fused"] = True  # left unsaid torch may choose its foreach implementation, with False it may not
    if train.optimizer == "sgd":
        said["momentum"] = train.momentum
    if train.weight_decay is not None:
        said["weight_decay"] = train.weight_decay
    return _CLASSES[train.optimizer](parameters, **said)


def schedule(optimizer: torch.optim.Optimizer, train: TrainSpec, steps: int) -> LambdaLR | None:
    """Learning rate per optimizer step; None where it is constant. A decay ends at total_steps, or at `steps`."""
    if train.lr_schedule == "constant":
        return None
    total = train.total_steps or steps

    def factor(step: int) -> float:
        if step < train.warmup_steps:
            return (step + 1) / train.warmup_steps
        if train.lr_schedule == "linear_warmup" or total <= train.warmup_steps:
            return 1.0
        done = min(1.0, (step - train.warmup_steps) / (total - train.warmup_steps))
        return 1.0 - done if train.lr_schedule == "linear" else 0.5 * (1.0 + math.cos(math.pi * done))

    return LambdaLR(optimizer, factor)
