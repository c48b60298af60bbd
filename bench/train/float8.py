"""`train.float8`: the products of the blocks' linear layers in float8, by torch's scaled products.

Each tensor is scaled so that its largest element is the format's: e4m3 for inputs and weights, e5m2 for gradients
(Micikevicius et al. 2022, arXiv:2209.05433). Weights, sums and all other operations stay as `train.precision` says.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import torch
from torch import nn

from bench.common.errors import InputError
from bench.common.torch_private import scaled_mm

_MULTIPLE = 16
"""Sizes of a product must be multiples of it."""
_LEAST_CAPABILITY = (8, 9)


def layers(blocks: list[nn.Module]) -> list[nn.Linear]:
    """The linear layers whose products float8 can compute."""
    linear = [one for block in blocks for one in block.modules() if isinstance(one, nn.Linear)]
    return [one for one in linear if not (one.in_features % _MULTIPLE or one.out_features % _MULTIPLE)]


def use(blocks: list[nn.Module], device: torch.device) -> None:
    """From now on these layers compute in float8. Raises InputError if the device cannot."""
    if device.type == "cuda" and torch.version.hip is None:
        capability = torch.cuda.get_device_capability(device)
        if capability < _LEAST_CAPABILITY:
            raise InputError(
                f"train.float8 needs a GPU of compute capability 8.9 or more, as L4 and H100 have: "
                f"{torch.cuda.get_device_name(device)} has {capability[0]}.{capability[1]}. Leave out train.float8"
            )
    for layer in layers(blocks):
        layer.forward = partial(_forward, layer)  # type: ignore[method-assign] # hooks of the module stay


def _forward(layer: nn.Linear, x: torch.Tensor) -> torch.Tensor:
    rows = math.prod(x.shape[:-1])
    if rows % _MULTIPLE:
        raise InputError(
            f"train.float8 needs a multiple of {_MULTIPLE} rows (examples x tokens), but a rank's micro-batch has "
            f"{rows}: choose another batch"
        )
    dtype = torch.get_autocast_dtype(x.device.type) if torch.is_autocast_enabled(x.device.type) else x.dtype
    flat = x.reshape(rows, x.shape[-1]).to(dtype)
    out: torch.Tensor = _Product.apply(flat, layer.weight.to(dtype)).unflatten(0, x.shape[:-1])
    return out if layer.bias is None else out + layer.bias.to(dtype)


class _Product(torch.autograd.Function):
    """x [rows, inputs] times the transpose of weight [outputs, inputs]."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x, weight)
        return _scaled(_in(x, torch.float8_e4m3fn), _in(weight, torch.float8_e4m3fn), x.dtype)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x, weight = ctx.saved_tensors
        given = _in(gradient, torch.float8_e5m2)
        of_x = _scaled(given, _in(weight.t(), torch.float8_e4m3fn), x.dtype)
        given_by_output = given[0].t().contiguous(), given[1]
        of_weight = _scaled(given_by_output, _in(x.t(), torch.float8_e4m3fn), x.dtype)
        return of_x, of_weight


def _in(tensor: torch.Tensor, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """The tensor in that format, row-major, and the factor [] that gives it back."""
    largest = tensor.abs().amax().float().clamp(min=torch.finfo(torch.float32).tiny)
    factor = largest / torch.finfo(dtype).max
    return (tensor / factor).to(dtype).contiguous(), factor


def _scaled(
    a: tuple[torch.Tensor, torch.Tensor], b: tuple[torch.Tensor, torch.Tensor], dtype: torch.dtype
) -> torch.Tensor:
    """a [m, k] times the transpose of b [n, k], which torch wants column-major."""
    out: torch.Tensor = scaled_mm(a[0], b[0].t(), scale_a=a[1], scale_b=b[1], out_dtype=dtype)
    return out
