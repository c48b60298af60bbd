"""torch's ways on a GPU, for the steps that a shadow takes on a CPU: autocast, and attention's kernel.

Both change which results a step keeps. Other kernels of a GPU, and their workspaces, are not known here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from bench.common import torch_private
from bench.shadow.hollow import mapped

_IN_FP32 = (
    "acos", "asin", "cosh", "erfinv", "sinh", "tan", "pow.Scalar", "rms_norm", "linalg_vector_norm",
    "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "upsample_linear1d", "upsample_bilinear2d",
    "upsample_trilinear3d", "upsample_bicubic2d",
    "layer_norm", "native_layer_norm", "group_norm", "softmax.int", "log_softmax.int", "cross_entropy_loss",
    "nll_loss", "nll_loss_nd", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div",
    "binary_cross_entropy_with_logits", "cosine_similarity", "cdist", "dist", "renorm", "cumsum", "cumprod", "sum",
    "sum.dim_IntList", "prod", "norm.Scalar", "norm.ScalarOpt_dim", "logsumexp", "exp", "expm1", "log", "log2",
    "log10", "log1p", "pow.Tensor_Scalar", "pow.Tensor_Tensor", "reciprocal", "rsqrt", "softplus",
)  # fmt: skip
"""Operations that CUDA's autocast computes in fp32, and a CPU's in the dtype of their arguments: those of torch's list
in aten/src/ATen/autocast_mode.h that models use, and the losses that call them."""


@contextmanager
def steps_of_a_gpu() -> Iterator[None]:
    """Inside, this process keeps what it would keep on a GPU."""
    library = torch.library.Library("aten", "IMPL")
    for operation in _in_fp32():
        library.impl(operation, _computed_in_fp32(operation), "AutocastCPU")
    library.impl("scaled_dot_product_attention", _attention, "AutogradCPU")
    try:
        yield
    finally:
        del library  # torch's own kernels are back


def _in_fp32() -> Iterator[torch_private.OpOverload]:
    for name in _IN_FP32:
        packet, _, overload = name.partition(".")
        yield getattr(getattr(torch.ops.aten, packet), overload or "default")
    yield torch_private.upsample_nearest_exact1d
    yield torch_private.upsample_nearest_exact2d
    yield torch_private.upsample_nearest_exact3d


def _computed_in_fp32(operation: torch_private.OpOverload) -> Callable[..., Any]:
    def computed(*args: Any, **kwargs: Any) -> Any:
        with torch.autocast("cpu", enabled=False):
            return operation(
                *mapped(_fp32, args), **{name: mapped(_fp32, one) for name, one in kwargs.items()}
            )

    return computed


def _fp32(tensor: torch.Tensor) -> torch.Tensor:
    keeps = tensor.device.type != "cpu" or not tensor.is_floating_point() or tensor.dtype is torch.float64
    return tensor if keeps else tensor.to(torch.float32)


def _attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None = None,
    dropout: float = 0.0,
    is_causal: bool = False,
    **others: Any,
) -> torch.Tensor:
    """By a kernel that keeps its inputs, its result and one number per row, but no scores, as GPUs since 2020 have for
    all shapes that train here."""
    if query.dim() != 4 or others.get("enable_gqa"):
        in_products = torch_private.math_attention
        attended, _ = in_products(query, key, value, mask, dropout, is_causal, **others)
    else:
        fused = torch_private.efficient_attention
        # a constant mask exists already and is counted elsewhere; the kernel has rules for its shapes
        learned = mask if mask is not None and mask.requires_grad else None
        attended, *_ = fused(query, key, value, learned, True, dropout, is_causal, scale=others.get("scale"))
    found: torch.Tensor = attended
    return found
