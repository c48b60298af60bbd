"""Checks the stages of a custom workload before a session exists: one after the other, they must be the model.

They are called once, with two examples. A model of more than 50 million parameters, which would need too much time and
memory here, is only checked for its parameters (bench/strategies/_meshed.py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from bench import workloads
from bench.common.errors import InputError
from bench.train.check_workload import LARGEST_PARAMETERS
from bench.train.named_losses import trained
from bench.workloads import Workload

_EXAMPLES = 2
_TOLERANCE = 1e-3
"""Largest relative difference of the losses. Stages make the operations of the whole model, in the same order."""


def check(workload: Workload, count: int) -> None:
    """Raises InputError if the workload's `count` stages do not make its model's loss. `workload`: prepared, with
    `stages`, whose result has been checked."""
    with torch.random.fork_rng(devices=[]):
        model = workload.model()
        if sum(part.numel() for part in model.parameters()) > LARGEST_PARAMETERS:
            return
        batch = workloads.first_batch(workload, _EXAMPLES)
        chain = _Chain(workload.stages(model, count))  # type: ignore[attr-defined] # it has the method
        losses = []
        for called in (model, chain):
            torch.manual_seed(0)  # the same masks of dropout
            losses.append(float(trained(workload.loss(called, batch)).detach()))
    whole, divided = losses
    if chain.calls != 1:
        raise InputError(
            f"loss() calls the model {chain.calls} times, but a batch passes through a pipeline once: call the model "
            "once, or use tp or fsdp"
        )
    if abs(divided - whole) > _TOLERANCE * max(1.0, abs(whole)):
        raise InputError(
            f"the stages of stages() are not the model: their loss of {_EXAMPLES} examples is {divided:.4g}, that of "
            f"the whole model {whole:.4g}: give each layer to one stage, in the model's order"
        )


class _Chain(nn.Module):
    """All stages, called in the place of the model."""

    def __init__(self, stages: Sequence[nn.Module]) -> None:
        super().__init__()
        self.stages = nn.ModuleList(stages)
        self.calls = 0

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        output: Any = None
        for number, stage in enumerate(self.stages):
            output = stage(output, *args, **kwargs)
            if number < len(self.stages) - 1:
                _check_output(number, output)
        return output


def _check_output(number: int, output: Any) -> None:
    if not isinstance(output, torch.Tensor) or not output.is_floating_point():
        found = str(output.dtype) if isinstance(output, torch.Tensor) else type(output).__name__
        raise InputError(
            f"stage {number} of stages() returned {found}: give one tensor of floating-point numbers, which the next "
            "stage is called with"
        )
    if not output.requires_grad:
        raise InputError(
            f"stage {number} of stages() returned a tensor without gradient, so that earlier layers would not be "
            "trained: leave out detach and no_grad"
        )
