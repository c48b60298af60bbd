"""Generated text as token ids: frequencies follow Zipf's law, and a rule leads from each token to the next."""

from __future__ import annotations

import torch

from bench.data.synthetic import keyed, zipf

_RESTARTS = 0.25
"""Fraction of tokens that are drawn at random instead of following the one before."""
_DRAW, _RESTART = 0, 1
"""Streams of random numbers; see bench/data/synthetic/keyed.py."""
_AT_ONCE = 1 << 18
"""Tokens; more would not fit into a cache."""


def chains(keys: torch.Tensor, length: int, vocab_size: int, seed: int) -> torch.Tensor:
    """Sequences int32 [len(keys), length], each a function of (seed, key).

    With probability 3/4 a token is the one before plus 1, modulo the vocabulary's size; else it is drawn by Zipf's law.
    A model that has learnt only frequencies has about three times the loss of one that has learnt the rule."""
    rows = max(1, _AT_ONCE // length)
    return torch.cat([_chains(some, length, vocab_size, seed) for some in keys.split(rows)])


def _chains(keys: torch.Tensor, length: int, vocab_size: int, seed: int) -> torch.Tensor:
    drawn = zipf.ranks(keyed.uniform(seed, keys, length, _DRAW), vocab_size)
    restarts = keyed.uniform(seed, keys, length, _RESTART) < _RESTARTS
    places = torch.arange(length)
    began = torch.where(restarts, places, 0).cummax(dim=1).values
    return drawn.gather(1, began).add_(places - began).remainder_(vocab_size).to(torch.int32)
