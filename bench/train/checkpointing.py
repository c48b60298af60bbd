"""`train.checkpointing`: recompute the activations of the model's blocks in backward instead of keeping them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import torch
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts

from bench.common import torch_private

if TYPE_CHECKING:
    from torch import nn

    from bench.records.run_spec import Recomputed

_aten = torch.ops.aten
_ATTENTION = [
    torch_private.flash_attention,
    torch_private.flash_attention_on_cpu,
    torch_private.efficient_attention,
    torch_private.cudnn_attention,
]
_MATMULS = [
    _aten.mm.default,
    _aten.addmm.default,
    _aten.bmm.default,
    _aten.baddbmm.default,
    _aten.convolution.default,
]


def recompute(blocks: list[nn.Module], kept: Recomputed) -> None:
    """Recompute each block's forward in backward, all of it or all but the results that `kept` names."""
    options = {}
    if isinstance(kept, str):
        operations = _ATTENTION + (_MATMULS if kept == "keep_matmuls" else [])
        options["context_fn"] = partial(create_selective_checkpoint_contexts, operations)
    for block in blocks:
        block.forward = partial(checkpoint, block.forward, use_reentrant=False, **options)
