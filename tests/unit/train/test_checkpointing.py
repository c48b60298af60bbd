"""`train.checkpointing` changes what is computed twice, never the gradient."""

from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from bench.models.transformer import Transformer, TransformerConfig
from bench.train import checkpointing

CONFIG = TransformerConfig(
    vocab_size=64, d_model=32, layers=2, heads=4, feed_forward=64, dropout=0.0, tie_embeddings=False, seed=0
)
KINDS = (False, True, "keep_attention", "keep_matmuls")


def step(kept: bool | str) -> tuple[int, list[torch.Tensor]]:
    """FLOPs of forward and backward, and the gradient."""
    torch.manual_seed(0)
    model = Transformer(CONFIG)
    if kept:
        checkpointing.recompute(list(model.layers), kept)  # type: ignore[arg-type] # one of KINDS
    tokens = torch.arange(32).view(2, 16)
    with FlopCounterMode(display=False) as counter:
        model(tokens, torch.arange(2)).square().sum().backward()
    return counter.get_total_flops(), [part.grad for part in model.parameters() if part.grad is not None]


@pytest.fixture(scope="module")
def steps() -> dict[bool | str, tuple[int, list[torch.Tensor]]]:
    return {kept: step(kept) for kept in KINDS}


def test_what_is_kept_is_not_computed_twice(steps: dict[bool | str, tuple[int, list[torch.Tensor]]]) -> None:
    flops = {kept: found for kept, (found, _) in steps.items()}
    assert flops[False] == flops["keep_matmuls"] < flops["keep_attention"] < flops[True]


@pytest.mark.parametrize("kept", KINDS[1:])
def test_the_gradient_is_the_same(
    steps: dict[bool | str, tuple[int, list[torch.Tensor]]], kept: bool | str
) -> None:
    for gradient, reference in zip(steps[kept][1], steps[False][1], strict=True):
        torch.testing.assert_close(gradient, reference, rtol=0, atol=0)
