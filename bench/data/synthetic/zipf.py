"""Zipf's law: the r-th most frequent word is about 1/r as frequent as the first."""

from __future__ import annotations

import torch


def ranks(uniform: torch.Tensor, words: int) -> torch.Tensor:
    """int64 ranks from 0 to words - 1 for numbers in [0, 1): rank r - 1 has a frequency of ln(1 + 1/r), about 1/r."""
    return torch.pow(words + 1.0, uniform).long().sub_(1).clamp_(0, words - 1)
