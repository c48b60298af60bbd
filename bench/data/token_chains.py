"""Generated text as token ids: Zipf's law over the vocabulary, and a rule from each token to the next."""

from __future__ import annotations

import torch

from bench.data import keyed, zipf

_RESTARTS = 0.25
"""Share of tokens that are drawn anew instead of following the one before."""
_DRAW, _RESTART = 0, 1
"""Streams of random numbers; see bench/data/keyed.py."""
_AT_ONCE = 1 << 18
"""Tokens; more would not fit a cache."""


def chains(keys: torch.Tensor, length: int, vocab_size: int, seed: int) -> torch.Tensor:
    """Sequences int32 [len(keys), length], each a function of (seed, key).

    A token is the one before plus 1, around the vocabulary's end, with probability 3/4; else it is drawn by Zipf's law.
    Who knows how often tokens come alone is left with some three times the loss of who knows the rule."""
    rows = max(1, _AT_ONCE // length)
    return torch.cat([_chains(some, length, vocab_size, seed) for some in keys.split(rows)])


def _chains(keys: torch.Tensor, length: int, vocab_size: int, seed: int) -> torch.Tensor:
    drawn = zipf.ranks(keyed.uniform(seed, keys, length, _DRAW), vocab_size)
    restarts = keyed.uniform(seed, keys, length, _RESTART) < _RESTARTS
    places = torch.arange(length)
    began = torch.where(restarts, places, 0).cummax(dim=1).values
    return drawn.gather(1, began).add_(places - began).remainder_(vocab_size).to(torch.int32)
