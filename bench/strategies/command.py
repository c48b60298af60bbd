"""command: the ranks and nothing else, for a command that distributes its model itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from bench import strategies

if TYPE_CHECKING:
    from torch import nn


class Strategy(strategies.Strategy):
    """The command distributes the model."""

    trains = False

    def wrap(self, model: nn.Module, blocks: list[nn.Module], **_: object) -> NoReturn:  # noqa: ARG002
        raise AssertionError("there is no model")
