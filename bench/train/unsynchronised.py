"""A strategy whose steps send nothing to other ranks; the ranks' models diverge."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


class Unsynchronised:
    """A strategy that computes all micro-batches without communication."""

    def __init__(self, strategy: Any) -> None:
        self._strategy = strategy

    def accumulating(self, model: torch.nn.Module, last: bool) -> AbstractContextManager[None]:  # noqa: ARG002
        context: AbstractContextManager[None] = self._strategy.unsynchronised(model)
        return context

    def clip(self, model: torch.nn.Module, max_norm: float) -> None:
        self._strategy.clip(model, max_norm)
