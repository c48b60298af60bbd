"""Shapes on CUDA where no GPU is: what torch refuses to do there without one.

Autocast switches itself off, and attention falls back to plain products, whose scores would be counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from torch.overrides import TorchFunctionMode

from bench.dtypes import narrow_dtype


@contextmanager
def autocast(precision: str, device_type: str) -> Iterator[None]:
    """As torch.autocast, but without asking whether the device is there."""
    dtype = narrow_dtype(precision)
    if dtype is None:
        yield
        return
    torch.set_autocast_enabled(device_type, True)
    torch.set_autocast_dtype(device_type, dtype)
    torch.autocast_increment_nesting()
    try:
        yield
    finally:
        if torch.autocast_decrement_nesting() == 0:
            torch.clear_autocast_cache()
        torch.set_autocast_enabled(device_type, False)


class FusedAttention(TorchFunctionMode):
    """Attention on CUDA by a kernel that keeps no scores, as a GPU since 2020 has it for all shapes that train here."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is scaled_dot_product_attention and args[0].device.type == "cuda" and args[0].dim() == 4:
            return _attention(*args, **kwargs)
        return func(*args, **kwargs)


def _attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,  # noqa: ARG001 - it is there already, and kept by whom it belongs to
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    **_: Any,
) -> torch.Tensor:
    """[B, H, T, D], all three; keeps its inputs, its result and one number per row."""
    if torch.is_autocast_enabled("cuda"):
        dtype = torch.get_autocast_dtype("cuda")
        query, key, value = query.to(dtype), key.to(dtype), value.to(dtype)
    kernel = torch.ops.aten._scaled_dot_product_efficient_attention
    attended: torch.Tensor = kernel(query, key, value, None, True, dropout_p, is_causal, scale=scale)[0]
    return attended
