"""One file per strategy; the file's name is the strategy's name.

A strategy distributes a model over the ranks. It knows nothing about workloads, timing or storage. Its module must
import without torch: import torch inside methods.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from bench.common.errors import InputError
from bench.records.run_spec import MeasureSpec, TrainSpec
from bench.records.vocabulary import DeviceType

if TYPE_CHECKING:
    import torch
    from torch import nn


class Strategy(Protocol):
    """The interface that a rank uses."""

    Options: ClassVar[type[Any]]
    """Frozen keyword-only dataclass of the strategy's options, with defaults."""
    max_world_size: ClassVar[int | None]
    """Largest world size; null if there is no limit."""
    # Optional, called before anything starts, without torch; `options` is an Options:
    #   @staticmethod conflicts(options, asked: Asked) -> Iterator[tuple[str, str]]
    #       options that torch cannot combine with the case's other keys: (option, reason and remedy)
    #   @staticmethod misfit(options, world_size: int, device_type: DeviceType) -> str | None
    #       why it cannot distribute a model over that many ranks of that device
    # Optional, called before anything starts, with torch:
    #   @staticmethod lacking() -> str | None
    #       what the installed torch lacks; null if it has everything
    # Optional, called by a rank:
    #   needs_cpu_group(options) -> bool, static: whether ranks on GPUs must also be able to reduce CPU tensors
    #   unsynchronised(model) -> AbstractContextManager[None]: around the forward and backward of a micro-batch; inside,
    #       nothing is sent to other ranks, whose models diverge from then on
    #   sharded_scaler = True if fp16's loss scaler must ask the other ranks for overflows

    def __init__(self, options: Any) -> None: ...

    def wrap(
        self, model: nn.Module, blocks: list[nn.Module], *, device: torch.device, precision: str
    ) -> nn.Module:
        """Distribute the model over the default process group; also at one rank, for an equal baseline."""

    def accumulating(self, model: nn.Module, last: bool) -> AbstractContextManager[None]:
        """Context for forward and backward of one micro-batch; synchronises gradients only if `last`."""

    def clip(self, model: nn.Module, max_norm: float) -> None:
        """Clip the norm of the whole model's gradient, not only of this rank's part."""

    def validated(self, model: nn.Module) -> None:
        """Call it after forward passes without backward: restore the model's distribution for the next step."""


def names() -> list[str]:
    """Strategies that ship, in alphabetical order; imports none."""
    return sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))


def known() -> list[str]:
    """The same as `names`: installed packages cannot add strategies."""
    return names()


def load(name: str) -> type[Strategy]:
    """The class `Strategy` of bench/strategies/NAME.py."""
    if name not in names():
        raise InputError(f"unknown strategy {name!r}: there are {', '.join(names())}")
    module = importlib.import_module(f"{__name__}.{name}")
    strategy: type[Strategy] = module.Strategy
    return strategy


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The case's settings that a strategy may conflict with."""

    train: TrainSpec
    measure: MeasureSpec


def conflicts(name: str, options: dict[str, Any], asked: Asked) -> Iterator[tuple[str, str]]:
    """Options of the strategy that torch cannot combine with the rest of the case, each with the reason."""
    kind = load(name)
    if hasattr(kind, "conflicts"):
        yield from kind.conflicts(kind.Options(**options), asked)


def misfit(name: str, options: dict[str, Any], world_size: int, device_type: DeviceType) -> str | None:
    """Why the strategy cannot distribute a model over that many ranks of that device; null if it can."""
    kind = load(name)
    if not hasattr(kind, "misfit"):
        return None
    reason: str | None = kind.misfit(kind.Options(**options), world_size, device_type)
    return reason


def lays_models(name: str) -> bool:
    """Whether it can train; process_group cannot."""
    return hasattr(load(name), "wrap")


def needs_cpu_group(name: str, options: dict[str, Any]) -> bool:
    """Whether ranks on GPUs must also be able to reduce tensors in host memory."""
    kind = load(name)
    return hasattr(kind, "needs_cpu_group") and bool(kind.needs_cpu_group(kind.Options(**options)))


def lacking(name: str) -> str | None:
    """Why the installed torch is not enough for the strategy; null if it is. Loads torch."""
    kind = load(name)
    reason: str | None = kind.lacking() if hasattr(kind, "lacking") else None
    return reason
