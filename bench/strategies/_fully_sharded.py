"""Rules for models whose parameters are DTensors, and calls that `fully_shard` needs around a step."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import nn

    from bench.records.run_spec import TrainSpec
    from bench.records.vocabulary import DeviceType


def conflicts(train: TrainSpec) -> Iterator[tuple[str, str]]:
    """Limits of torch for parameters that are DTensors."""
    if train.fused_optimizer and train.optimizer in ("sgd", "SGD"):
        yield (
            "name",
            "torch's fused SGD cannot update divided parameters: leave out train.fused_optimizer, or use "
            "train.optimizer: adamw",
        )


def lacking(device_type: DeviceType) -> str | None:
    """What `fully_shard` of the installed torch cannot do; null if it can be used."""
    import torch

    if device_type == "cpu" and not hasattr(torch.cpu.Stream, "record_event"):
        return "its FSDP2 needs a GPU; that of torch 2.8 also runs on CPUs"
    return None


def synchronise(model: nn.Module, last: bool) -> None:
    """Reduce gradients only after the last micro-batch."""
    model.set_requires_gradient_sync(last)  # type: ignore[operator]


def reshard(model: nn.Module) -> None:
    """Free the parameters that forward gathered, as backward does; otherwise the next step would not gather them."""
    from torch.distributed.fsdp import FSDPModule

    for unit in model.modules():
        if isinstance(unit, FSDPModule):
            unit.reshard()
