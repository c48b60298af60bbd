"""An exponential moving average of the parameters, `train.ema_decay`: after every optimizer step
average = decay x average + (1 - decay) x parameter, beginning with the model's initial parameters.

It is kept for what lies on this rank: a whole model under DDP, its own shard under FSDP, where no communication is
needed. Buffers, such as the statistics of BatchNorm, are not averaged.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch.distributed.tensor import DTensor


class Ema:
    """Averages of the parameters that an optimizer holds."""

    @torch.no_grad()
    def __init__(self, optimizer: torch.optim.Optimizer, decay: float) -> None:
        self._optimizer = optimizer
        self._weight = 1.0 - decay
        self.averages = [parameter.clone() for parameter in self._parameters()]
        """In the optimizer's order, each of the shape of what lies on this rank."""

    @torch.no_grad()
    def update(self) -> None:
        """After an optimizer step."""
        torch._foreach_lerp_(self.averages, self._parameters(), self._weight)

    @contextmanager
    def in_place_of_parameters(self) -> Iterator[None]:
        """In it the model has the averages; after it its own parameters, bit for bit. An error in it ends the run:
        nothing is put back, which may fail too, as where memory is out, and would be told instead."""
        self._swap()
        yield
        self._swap()

    @torch.no_grad()
    def _swap(self) -> None:
        for average, parameter in zip(self.averages, self._parameters(), strict=True):
            kept = average.clone()  # of one parameter at a time: a second model would not fit everywhere
            average.copy_(parameter)
            parameter.copy_(kept)

    def _parameters(self) -> list[torch.Tensor]:
        """Asked anew each time: FSDP may give a shard other storage."""
        groups = self._optimizer.param_groups
        return [_local(parameter) for group in groups for parameter in group["params"]]


def _local(parameter: torch.nn.Parameter) -> torch.Tensor:
    """Without gradients, where a DTensor gives its own tensor at once; its detach() would go through dispatch."""
    return parameter.to_local() if isinstance(parameter, DTensor) else parameter.detach()
