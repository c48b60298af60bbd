"""Generated texts: word frequencies follow Zipf's law, and marker words determine a text's class."""

from __future__ import annotations

import torch

from bench.data.synthetic import zipf
from bench.data.text.vocabulary import CLASS, PADDING, SPECIALS

MARKERS = 4
"""Marker words of each class; they have the ids after the special ones."""
_OWN, _OTHERS = 0.12, 0.12
"""Fraction of a text's words that are markers of its intended class, and of a random class."""


def generate(
    count: int, length: int, vocab_size: int, classes: int, seed: int, *, class_token: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids int32 [count, length] and classes int64 [count]; a text has between length / 2 and length words.

    A text's class is the one with most markers in it. In a tie the intended class wins, else the lowest one; a rule
    that counts words can therefore classify almost all texts. With `class_token` each text begins with CLASS."""
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
    kinds = (tokens - SPECIALS).div(MARKERS, rounding_mode="floor")
    counts = torch.stack([(kinds == kind).sum(dim=1) for kind in range(classes)], dim=1).float()
    counts[torch.arange(count), intended] += 0.5
    return tokens.int(), counts.argmax(dim=1)
