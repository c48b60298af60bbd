"""A decoder-only Transformer of GPT-2's proportions (Radford et al. 2019): pre-norm, GELU, no biases; RoPE instead of a
table of positions."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - its name everywhere

from bench.models.keyed_dropout import KeyedDropout, number_streams
from bench.models.rotary import Rotation, rotate, rotation

_DEVIATION = 0.02
"""Standard deviation of initial weights, as in GPT-2."""


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """Sizes of a Transformer."""

    vocab_size: int
    d_model: int
    """Width of the residual stream."""
    layers: int
    heads: int
    """Attention heads; d_model / heads must be even."""
    feed_forward: int
    """Width of each feed-forward layer."""
    dropout: float
    """Probability, after the embedding and at the end of both branches of a layer."""
    tie_embeddings: bool
    """The output layer's weight is the embedding's."""
    seed: int
    """Seed of the dropout masks."""


class Linear(nn.Linear):
    """Without bias. It draws its weights once; nn.Linear's initial values would be drawn first and thrown away."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, bias=False)

    def reset_parameters(self) -> None:
        nn.init.normal_(self.weight, std=_DEVIATION)


class Embedding(nn.Embedding):
    """int64 [B, T] to [B, T, d_model]."""

    def reset_parameters(self) -> None:
        nn.init.normal_(self.weight, std=_DEVIATION)


class CausalAttention(nn.Module):
    """Each position attends to itself and those before it: [B, T, d_model] to the same."""

    def __init__(self, d_model: int, heads: int) -> None:
        super().__init__()
        self.head_size = d_model // heads
        self.query_key_value = Linear(d_model, 3 * d_model)
        """By head, so that consecutive rows are whole heads: tensor parallelism gives each rank some of them."""
        self.project = Linear(d_model, d_model)

    def forward(self, x: torch.Tensor, by: Rotation) -> torch.Tensor:
        query, key, value = self.query_key_value(x).unflatten(-1, (-1, 3, self.head_size)).unbind(3)
        attended = F.scaled_dot_product_attention(
            rotate(query, by).transpose(1, 2),
            rotate(key, by).transpose(1, 2),
            value.transpose(1, 2),
            is_causal=True,
        )
        out: torch.Tensor = self.project(attended.transpose(1, 2).flatten(2))
        return out


class FeedForward(nn.Module):
    """Two linear layers around a GELU, the same at every position."""

    def __init__(self, d_model: int, width: int) -> None:
        super().__init__()
        self.widen = Linear(d_model, width)
        self.project = Linear(width, d_model)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.project(F.gelu(self.widen(x), approximate="tanh"))
        return out


class Layer(nn.Module):
    """Attention and feed-forward, each normalised before and added to its input."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(config.d_model, bias=False)
        self.attention = CausalAttention(config.d_model, config.heads)
        self.attention_dropout = KeyedDropout(config.dropout, config.seed)
        self.feed_forward_norm = nn.LayerNorm(config.d_model, bias=False)
        self.feed_forward = FeedForward(config.d_model, config.feed_forward)
        self.feed_forward_dropout = KeyedDropout(config.dropout, config.seed)

    def forward(self, x: torch.Tensor, by: Rotation, keys: torch.Tensor) -> torch.Tensor:
        x = x + self.attention_dropout(self.attention(self.attention_norm(x), by), keys)
        out: torch.Tensor = x + self.feed_forward_dropout(self.feed_forward(self.feed_forward_norm(x)), keys)
        return out


class Transformer(nn.Module):
    """Logits [B, T, vocab_size] of each next token, from tokens int64 [B, T]; keys int64 [B] are for dropout alone."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = Embedding(config.vocab_size, config.d_model)
        self.embedding_dropout = KeyedDropout(config.dropout, config.seed)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.d_model, bias=False)
        # a tied head draws no weights of its own
        with torch.device("meta") if config.tie_embeddings else nullcontext():
            self.head = Linear(config.d_model, config.vocab_size)
        if config.tie_embeddings:
            self.head.weight = self.embedding.weight
        number_streams(self)
        self._shrink_branches()

    @torch.no_grad()
    def _shrink_branches(self) -> None:
        """Divide each branch's initial weights by sqrt(2 x layers), the number of branches that add up, as in GPT-2."""
        for layer in self.layers:
            assert isinstance(layer, Layer)
            for linear in (layer.attention.project, layer.feed_forward.project):
                linear.weight.mul_((2 * self.config.layers) ** -0.5)

    def forward(self, tokens: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        x = self.embedding_dropout(self.embedding(tokens), keys)
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        by = rotation(positions, self.config.d_model // self.config.heads, dtype=_compute_dtype(x))
        for layer in self.layers:
            x = layer(x, by, keys)
        logits: torch.Tensor = self.head(self.norm(x))
        return logits


def _compute_dtype(x: torch.Tensor) -> torch.dtype:
    """The dtype of linear layers' outputs for x. A rotation in another dtype would be cast in every layer."""
    device = x.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x.dtype
