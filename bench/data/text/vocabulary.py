"""Turns words of texts into numbers: the same texts give the same vocabulary on every rank.

Every rank reads the texts itself, so each training word is processed only once: 5 million words take 4 s, with reading.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable

import numpy as np
import torch

PADDING, UNKNOWN, CLASS = 0, 1, 2
"""Ids of the places after a text's end, of words outside the vocabulary, and of the token before a text."""
SPECIALS = 3
"""The id of the most frequent word; lower ids are special."""
_NEVER_MET = -1
_WORD = re.compile(r"\w+(?:'\w+)*")
"""Letters, digits and underscores, with apostrophes inside."""

_Flat = tuple[np.ndarray, np.ndarray]
"""Word numbers of all texts one after another, and the number of words of each text."""


class _Numbers(dict[str, int]):
    """Numbers words in the order of their first lookup."""

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number


class Vocabulary:
    """Ids of the most frequent words of some texts; equally frequent words are sorted by code points."""

    def __init__(self, texts: Iterable[str], size: int) -> None:
        """`size` includes the special ids."""
        self._numbers = _Numbers()
        self._own = _flat(texts, self._numbers.__getitem__)
        words, counts = list(self._numbers), np.bincount(self._own[0], minlength=len(self._numbers)).tolist()
        ranked = sorted(range(len(words)), key=lambda number: (-counts[number], words[number]))
        ranked = ranked[: size - SPECIALS]
        self._length = SPECIALS + len(ranked)
        self._ids = np.full(len(words) + 1, UNKNOWN, dtype=np.int32)  # index -1 is that of _NEVER_MET
        self._ids[ranked] = np.arange(SPECIALS, self._length)

    def __len__(self) -> int:
        return self._length

    def own_rows(self, length: int, *, class_token: bool) -> torch.Tensor:
        """`rows` of the texts from which the vocabulary was made."""
        return self._rows(self._own, length, class_token=class_token)

    def rows(self, texts: Iterable[str], length: int, *, class_token: bool) -> torch.Tensor:
        """Token ids int32 [texts, length]: longer texts are cut, shorter ones padded; an empty text has one unknown
        word.

        With `class_token` each row begins with CLASS, which is part of `length`."""
        met = self._numbers.get
        return self._rows(_flat(texts, lambda word: met(word, _NEVER_MET)), length, class_token=class_token)

    def _rows(self, flat: _Flat, length: int, *, class_token: bool) -> torch.Tensor:
        numbers, lengths = flat
        first = int(class_token)
        rows = np.full((len(lengths), length), PADDING, dtype=np.int32)
        rows[:, 0] = CLASS if class_token else UNKNOWN
        starts = lengths.cumsum() - lengths
        places = np.arange(len(numbers)) - np.repeat(starts, lengths) + first
        kept = places < length
        rows[np.repeat(np.arange(len(lengths)), lengths)[kept], places[kept]] = self._ids[numbers[kept]]
        return torch.from_numpy(rows)


def _flat(texts: Iterable[str], number: Callable[[str], int]) -> _Flat:
    numbers, lengths = array("i"), array("q")
    for text in texts:
        words = _WORD.findall(text.lower())
        numbers.extend(map(number, words))
        lengths.append(len(words))
    return np.asarray(numbers), np.asarray(lengths)
