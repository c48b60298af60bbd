"""single: the bare model on one rank, without a process group; the baseline for every parallel strategy."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from bench import strategies

if TYPE_CHECKING:
    import torch
    from torch import nn


class Strategy(strategies.Strategy):
    """The model, unchanged."""

    max_world_size = 1

    def wrap(
        self,
        model: nn.Module,
        blocks: list[nn.Module],  # noqa: ARG002 - the base class's signature
        *,
        device: torch.device,
        precision: str,  # noqa: ARG002 - the base class's signature
    ) -> nn.Module:
        return model.to(device)

    def accumulating(self, model: nn.Module, last: bool) -> AbstractContextManager[None]:  # noqa: ARG002
        return nullcontext()

    def clip(self, model: nn.Module, max_norm: float) -> None:
        from torch.nn.utils import clip_grad_norm_

        clip_grad_norm_(model.parameters(), max_norm)
