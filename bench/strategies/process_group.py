"""process_group: only the ranks and their process group, for workloads that measure the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from bench import strategies

if TYPE_CHECKING:
    from torch import nn


class Strategy(strategies.Strategy):
    """A strategy without a model to distribute."""

    trains = False

    def wrap(self, model: nn.Module, blocks: list[nn.Module], **_: object) -> NoReturn:  # noqa: ARG002
        raise AssertionError("there is no model")
