"""A custom strategy: `wrap` is required, everything else has a default here."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, ClassVar

from bench.common.custom_part import CustomPart, NoOptions
from bench.common.errors import InputError
from bench.strategies import _clip, _fully_sharded

if TYPE_CHECKING:
    from torch import nn


class Defaults:
    """Defaults for everything that a custom strategy leaves out."""

    Options: ClassVar[type[Any]] = NoOptions
    max_world_size: ClassVar[int | None] = None

    def __init__(self, options: Any) -> None:
        self.options = options

    def accumulating(self, model: nn.Module, last: bool) -> AbstractContextManager[None]:
        """Without synchronisation before the last micro-batch if the model can: `no_sync`, as DDP has it, or
        `fully_shard`."""
        if hasattr(model, "set_requires_gradient_sync"):
            _fully_sharded.synchronise(model, last)
        elif not last and hasattr(model, "no_sync"):
            alone: AbstractContextManager[None] = model.no_sync()  # type: ignore[operator]
            return alone
        return nullcontext()

    def clip(self, model: nn.Module, max_norm: float) -> None:
        """The norm of all gradients that the rank has; DTensors count with their parts on other ranks."""
        _clip.clip(model, max_norm)

    def validated(self, model: nn.Module) -> None:
        """Shards again what `fully_shard` has gathered; nothing for other models."""
        _fully_sharded.reshard(model)


def _check_attributes(whole: Any, label: str) -> None:
    largest = whole.max_world_size
    if largest is not None and (not isinstance(largest, int) or isinstance(largest, bool) or largest < 1):
        raise InputError(f"max_world_size of {label} is {largest!r}: give a whole number, 1 or more, or None")


STRATEGY = CustomPart(
    word="strategy",
    group="bench.strategies",
    required=("wrap",),
    called_with={
        "__init__": ("options",),
        "conflicts": ("options", "asked"),
        "misfit": ("options", "world_size", "device_type"),
        "too_few": ("options", "world_size", "micro_batches"),
        "asks_of_workload": ("options",),
        "suits": ("options", "world_size", "workload", "train"),
        "use": ("workload",),
        "forward_backward": ("model", "loss", "batches", "ended"),
        "evaluate": ("model", "evaluate", "batch"),
        "ranks_per_batch": ("options", "world_size"),
        "lacking": (),
        "needs_cpu_group": ("options",),
        "wrap": ("model", "blocks", "*", "device", "precision"),
        "accumulating": ("model", "last"),
        "unsynchronised": ("model",),
        "scale_messages": ("model", "factor"),
        "clip": ("model", "max_norm"),
        "validated": ("model",),
    },
    on_class=(
        "conflicts",
        "misfit",
        "too_few",
        "asks_of_workload",
        "suits",
        "ranks_per_batch",
        "lacking",
        "needs_cpu_group",
    ),
    defaults=Defaults,
    check=_check_attributes,
)
