"""Precisions as torch's types of numbers; torch is imported inside functions, since strategies import this."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

_NAMES = {"fp32": "float32", "tf32": "float32", "bf16": "bfloat16", "fp16": "float16"}
_BITS_16 = ("bf16", "fp16")


def dtype_of(precision: str) -> torch.dtype:
    """tf32 is a way to multiply numbers of 32 bits."""
    import torch

    dtype: torch.dtype = getattr(torch, _NAMES[precision])
    return dtype


def narrow_dtype(precision: str | None) -> torch.dtype | None:
    """Null where numbers keep their 32 bits."""
    return dtype_of(precision) if precision in _BITS_16 else None
