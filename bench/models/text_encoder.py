"""A Transformer encoder that classifies texts: pre-norm layers, learnt positions; padding has no influence.

torch's nn.TransformerEncoder draws dropout from the rank's generator; here masks depend on (seed, example).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - its name everywhere

from bench.data.text.vocabulary import PADDING
from bench.models.keyed_dropout import KeyedDropout, number_streams

_DEVIATION = 0.02
"""Standard deviation of initial weights, as in BERT (Devlin et al. 2019)."""


@dataclass(frozen=True, kw_only=True)
class TextEncoderConfig:
    """Sizes of an encoder."""

    vocab_size: int
    """Rows of the embedding, special tokens included."""
    sequence_length: int
    """Maximum number of tokens of a text."""
    d_model: int
    """Width of a token's representation, a multiple of `heads`."""
    heads: int
    layers: int
    feed_forward: int
    """Width between the two linear layers of a feed-forward part."""
    classes: int
    pooling: Literal["mean", "class_token"]
    """Classify the mean over the words, or the output at the first token."""
    dropout: float
    """Probability."""
    seed: int
    """Seed of the dropout masks."""


class SelfAttention(nn.Module):
    """Multi-head attention of every place to all words: [B, T, d_model] to the same."""

    def __init__(self, config: TextEncoderConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.query_key_value = nn.Linear(config.d_model, 3 * config.d_model)
        self.project = nn.Linear(config.d_model, config.d_model)

    def forward(self, x: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
        """`words`: bool [B, T]. The mask has one row for all heads and queries; kernels need not read it T times."""
        parts = self.query_key_value(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        query, key, value = parts.unbind()  # each [B, heads, T, d_model / heads]
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=words[:, None, None, :])
        projected: torch.Tensor = self.project(mixed.transpose(1, 2).flatten(2))
        return projected


class EncoderLayer(nn.Module):
    """Attention, then a feed-forward part, each with a norm before and a residual sum after: [B, T, d_model] to the
    same."""

    def __init__(self, config: TextEncoderConfig) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(config.d_model)
        self.attention = SelfAttention(config)
        self.dropout1 = KeyedDropout(config.dropout, config.seed)
        self.norm2 = nn.LayerNorm(config.d_model)
        self.widen = nn.Linear(config.d_model, config.feed_forward)
        self.narrow = nn.Linear(config.feed_forward, config.d_model)
        self.dropout2 = KeyedDropout(config.dropout, config.seed)

    def forward(self, x: torch.Tensor, words: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        x = x + self.dropout1(self.attention(self.norm1(x), words), keys)
        out: torch.Tensor = x + self.dropout2(self.narrow(F.gelu(self.widen(self.norm2(x)))), keys)
        return out


class TextEncoder(nn.Module):
    """Logits [B, classes] of tokens int [B, T], T at most sequence_length; keys int64 [B] are for dropout alone."""

    def __init__(self, config: TextEncoderConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.positions = nn.Parameter(torch.empty(config.sequence_length, config.d_model))
        self.dropout = KeyedDropout(config.dropout, config.seed)
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.d_model)
        self.head = nn.Linear(config.d_model, config.classes)
        number_streams(self)
        nn.init.normal_(self.positions, std=_DEVIATION)
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=_DEVIATION)
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)

    def forward(self, tokens: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        words = tokens != PADDING
        x = self.dropout(self.embedding(tokens) + self.positions[: tokens.shape[1]], keys)
        for layer in self.layers:
            x = layer(x, words, keys)
        x = self.norm(x)
        if self.config.pooling == "class_token":
            pooled = x[:, 0]  # [B, d_model]
        else:  # every text has at least one word, so the sum is not 0
            weights = words.to(x.dtype)[:, :, None]
            pooled = (x * weights).sum(dim=1) / weights.sum(dim=1)
        logits: torch.Tensor = self.head(pooled)
        return logits
