"""Generated texts: words as frequent as Zipf's law says, of a class that marker words decide."""

from __future__ import annotations

import torch

from bench.data import zipf
from bench.data.vocabulary import CLASS, PADDING, SPECIALS

MARKERS = 4
"""Marker words of each class; they have the ids after the special ones."""
_OWN, _OTHERS = 0.12, 0.12
"""Share of a text's words that are markers of its intended class, and of any class."""


def generate(
    count: int, length: int, vocab_size: int, classes: int, seed: int, *, class_token: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids int32 [count, length] and classes int64 [count]; a text has between half of `length` and all of it.

    A text's class is the one whose markers it has most of. Where two tie, it is the one that was intended, or the
    lowest; so a rule of word counts can be right about almost all texts. With `class_token` each begins with CLASS."""
    generator = torch.Generator().manual_seed(seed)

    def uniform(*shape: int) -> torch.Tensor:
        return torch.rand(*shape, generator=generator)

    def whole(high: int, *shape: int) -> torch.Tensor:
        return torch.randint(high, shape, generator=generator)

    intended = whole(classes, count)
    draw = uniform(count, length)
    marked = draw < _OWN + _OTHERS
    marker_class = torch.where(draw < _OWN, intended[:, None], whole(classes, count, length))
    markers = SPECIALS + marker_class * MARKERS + whole(MARKERS, count, length)
    reserved = SPECIALS + classes * MARKERS
    background = reserved + zipf.ranks(uniform(count, length), vocab_size - reserved)
    tokens = torch.where(marked, markers, background)
    ends = length - whole(length // 2 + 1, count)
    tokens[torch.arange(length) >= ends[:, None]] = PADDING
    if class_token:
        tokens[:, 0] = CLASS
    return tokens.int(), _majority(tokens, intended, classes)


def _majority(tokens: torch.Tensor, intended: torch.Tensor, classes: int) -> torch.Tensor:
    kinds = (tokens - SPECIALS).div(MARKERS, rounding_mode="floor")
    counts = torch.stack([(kinds == kind).sum(dim=1) for kind in range(classes)], dim=1).float()
    counts[torch.arange(len(tokens)), intended] += 0.5
    return counts.argmax(dim=1)
