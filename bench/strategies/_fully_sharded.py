"""Calls that models under `fully_shard` need around a step."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn


def synchronise(model: nn.Module, last: bool) -> None:
    """Reduce gradients only after the last micro-batch."""
    model.set_requires_gradient_sync(last)  # type: ignore[operator]


def reshard(model: nn.Module) -> None:
    """Free the parameters that forward gathered, as backward does; otherwise the next step would not gather them."""
    from torch.distributed.fsdp import FSDPModule

    for unit in model.modules():
        if isinstance(unit, FSDPModule):
            unit.reshard()
