"""single: the bare model on one rank, without a process group; the baseline for every parallel strategy."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    import torch
    from torch import nn


@dataclass(frozen=True, kw_only=True)
class SingleOptions:
    """No options."""


class Strategy:
    """The model, unchanged."""

    Options: ClassVar[type[SingleOptions]] = SingleOptions
    max_world_size: ClassVar[int | None] = 1

    def __init__(self, options: SingleOptions) -> None:
        self.options = options

    def wrap(
        self,
        model: nn.Module,
        blocks: list[nn.Module],  # noqa: ARG002 - the protocol's signature
        *,
        device: torch.device,
        precision: str,  # noqa: ARG002 - the protocol's signature
    ) -> nn.Module:
        return model.to(device)

    def accumulating(self, model: nn.Module, last: bool) -> AbstractContextManager[None]:  # noqa: ARG002
        return nullcontext()

    def clip(self, model: nn.Module, max_norm: float) -> None:
        from torch.nn.utils import clip_grad_norm_

        clip_grad_norm_(model.parameters(), max_norm)

    def validated(self, model: nn.Module) -> None:
        """Nothing to restore."""
