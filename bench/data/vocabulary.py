"""Words of texts become numbers: the same vocabulary from the same texts, on every rank."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import torch

PADDING, UNKNOWN, CLASS = 0, 1, 2
"""Ids of places after a text's end, of words that the vocabulary lacks, and of what stands before a text."""
SPECIALS = 3
"""The id of the most frequent word; those below are special."""
_WORD = re.compile(r"\w+(?:'\w+)*")


class Vocabulary:
    """Ids of the most frequent words of some texts; equally frequent ones in the order of their code points."""

    def __init__(self, texts: Iterable[str], size: int) -> None:
        """`size` counts the special ids too."""
        counts: Counter[str] = Counter()
        for text in texts:
            counts.update(_words(text))
        ranked = sorted(counts, key=lambda word: (-counts[word], word))[: size - SPECIALS]
        self._ids = {word: SPECIALS + rank for rank, word in enumerate(ranked)}

    def __len__(self) -> int:
        return SPECIALS + len(self._ids)

    def encode(self, texts: Sequence[str], length: int, *, class_token: bool) -> torch.Tensor:
        """Token ids int32 [texts, length]: longer texts are cut, shorter ones padded; an empty one is one unknown word.

        With `class_token` each begins with CLASS, which counts."""
        ids, first = self._ids, [CLASS] if class_token else []
        room = length - len(first)
        rows = array("i")
        for text in texts:
            row = first + [ids.get(word, UNKNOWN) for word in _words(text)[:room]] or [UNKNOWN]
            rows.extend(row)
            rows.extend([PADDING] * (length - len(row)))
        return torch.from_numpy(np.asarray(rows)).view(len(texts), length)  # without a copy


def _words(text: str) -> list[str]:
    """Lower-case runs of letters, digits and underscores, apostrophes inside them included."""
    return _WORD.findall(text.lower())
