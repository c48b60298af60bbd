"""`train.checkpointing`: recompute the activations of the model's blocks in backward instead of keeping them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from torch.utils.checkpoint import checkpoint

if TYPE_CHECKING:
    from torch import nn


def recompute(blocks: list[nn.Module]) -> None:
    """Recompute each block's forward in backward."""
    for block in blocks:
        block.forward = partial(checkpoint, block.forward, use_reentrant=False)
