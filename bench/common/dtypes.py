"""Precisions as torch dtypes. torch is imported inside functions, because strategies import this module."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

_NAMES = {"fp32": "float32", "tf32": "float32", "bf16": "bfloat16", "fp16": "float16"}
_BITS_16 = ("bf16", "fp16")


def dtype_of(precision: str) -> torch.dtype:
    """The dtype of a precision; float32 for tf32, which only changes how float32 is multiplied."""
    import torch

    dtype: torch.dtype = getattr(torch, _NAMES[precision])
    return dtype


def narrow_dtype(precision: str | None) -> torch.dtype | None:
    """The 16-bit dtype of a precision; null if it has 32 bits."""
    return dtype_of(precision) if precision in _BITS_16 else None
