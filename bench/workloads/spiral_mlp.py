"""spiral_mlp: a tiny perceptron on generated spirals, with steps so short that every overhead is visible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench import workloads
from bench.common.errors import InputError

if TYPE_CHECKING:
    import torch
    from torch import nn

    from bench.workloads import Batch

_POINTS = 10_000
_HELD_OUT = 2_000
_CLASSES = 3


@dataclass(frozen=True, kw_only=True)
class SpiralOptions:
    """Parameters of spiral_mlp."""

    hidden: tuple[int, ...] = (64, 32, 16)
    """Widths of the hidden layers, at least one, each 1 or more."""
    data_seed: int = 0
    """Seed of the generated points; a repeat's seed does not change them."""

    def __post_init__(self) -> None:
        if not self.hidden or min(self.hidden) < 1:
            raise InputError(
                f"spiral_mlp: hidden is {list(self.hidden)}: give at least one width, each 1 or more"
            )


class Workload(workloads.Workload):
    """Classifies points by the spiral arm, of three, that they are on: 8,000 to train, 2,000 held out."""

    Options = SpiralOptions
    dataset_size = _POINTS - _HELD_OUT
    validation_size = _HELD_OUT

    def prepare(self) -> None:
        from bench.data.synthetic import synthetic

        points, arms = synthetic.spirals(_POINTS, _CLASSES, self.options.data_seed)
        self._points, self._held_out = points[:-_HELD_OUT], points[-_HELD_OUT:]
        self._arms, self._held_out_arms = arms[:-_HELD_OUT], arms[-_HELD_OUT:]

    def model(self) -> nn.Module:
        from bench.models.mlp import Mlp

        return Mlp(2, self.options.hidden, _CLASSES)

    def blocks(self, model: nn.Module) -> list[nn.Module]:
        return [model.get_submodule("hidden")]

    def batch(self, places: torch.Tensor, keys: torch.Tensor) -> Batch:  # noqa: ARG002 - nothing here is random
        return {"points": self._points.index_select(0, places), "arms": self._arms.index_select(0, places)}

    def loss(self, model: nn.Module, batch: Batch) -> torch.Tensor:
        from torch.nn.functional import cross_entropy

        return cross_entropy(model(batch["points"]), batch["arms"])

    def validation_batch(self, indices: list[int]) -> Batch:
        return {"points": self._held_out[indices], "arms": self._held_out_arms[indices]}

    def evaluate(self, model: nn.Module, batch: Batch) -> tuple[torch.Tensor, torch.Tensor | None]:
        from torch.nn.functional import cross_entropy

        logits = model(batch["points"])
        correct = logits.argmax(dim=1) == batch["arms"]
        return cross_entropy(logits, batch["arms"], reduction="none"), correct.float()
