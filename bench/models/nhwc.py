"""Convolutions for activations in NHWC (PyTorch's channels_last).

Their kernels need weights in that order too. A weight in the usual order would be copied in every forward and backward
pass, and its gradient back. A weight in PyTorch's channels_last is not contiguous, which FSDP requires. So the
parameter is [outputs, height, width, inputs], which is contiguous, and the convolution uses a view [outputs, inputs,
height, width].
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - its name everywhere


class NhwcConv2d(nn.Conv2d):
    """nn.Conv2d, padded with zeros, whose parameter `weight` is [outputs, height, width, inputs / groups]."""

    def __init__(self, *arguments: int, **options: int) -> None:
        super().__init__(*arguments, **options)  # type: ignore[arg-type] # nn.Conv2d's own, numbers all of them
        _reorder(self)

    def kernel(self) -> torch.Tensor:
        """A view of the weight as [outputs, inputs / groups, height, width]."""
        return self.weight.permute(0, 3, 1, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.conv2d(x, self.kernel(), self.bias, self.stride, self.padding, self.dilation, self.groups)


def adopt(model: nn.Module) -> None:
    """Turn every nn.Conv2d of a model into a NhwcConv2d with the same weights."""
    for module in model.modules():
        if type(module) is nn.Conv2d:
            assert module.padding_mode == "zeros"
            module.__class__ = NhwcConv2d
            _reorder(module)


def _reorder(convolution: nn.Conv2d) -> None:
    convolution.weight = nn.Parameter(convolution.weight.detach().permute(0, 2, 3, 1).contiguous())
