"""The layers of DDPM's U-Net. All levels take (x, time, keys), so that the U-Net is a list of them."""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - its name everywhere

from bench.models.keyed_dropout import KeyedDropout
from bench.models.nhwc import NhwcConv2d

GROUPS = 32
"""Groups of every GroupNorm: channel counts are multiples of it."""


class Norm(nn.GroupNorm):
    """GroupNorm whose output has its input's layout; PyTorch's CUDA kernel supports only NCHW."""

    def __init__(self, channels: int) -> None:
        super().__init__(GROUPS, channels, eps=1e-6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        normed = super().forward(x)
        if x.is_contiguous(memory_format=torch.channels_last):
            return normed.contiguous(memory_format=torch.channels_last)  # copies only if the layout differs
        return normed


def conv3x3(inputs: int, outputs: int, *, channels_last: bool, stride: int = 1) -> nn.Conv2d:
    """[B, inputs, H, W] to [B, outputs, H / stride, W / stride]."""
    kind = NhwcConv2d if channels_last else nn.Conv2d
    return kind(inputs, outputs, kernel_size=3, stride=stride, padding=1)


class PerPixel(nn.Linear):
    """A 1x1 convolution as a matrix product: [B, inputs, H, W] to [B, outputs, H, W].

    DDP would have to copy nn.Conv2d's gradients because of their strides."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x.movedim(1, -1)).movedim(-1, 1)


class TimeEmbedding(nn.Module):
    """Sinusoids of the time step, then two linear layers: int64 [B] to [B, time_channels]."""

    def __init__(self, channels: int, time_channels: int) -> None:
        super().__init__()
        self.pairs = channels // 2
        self.first = nn.Linear(channels, time_channels)
        self.second = nn.Linear(time_channels, time_channels)

    def forward(self, steps: torch.Tensor) -> torch.Tensor:
        exponents = torch.arange(self.pairs, dtype=torch.float32, device=steps.device)
        frequencies = torch.exp(exponents * (-math.log(10_000) / (self.pairs - 1)))
        angles = steps[:, None] * frequencies
        sinusoids = torch.cat([angles.sin(), angles.cos()], dim=1)
        embedded: torch.Tensor = self.second(F.silu(self.first(sinusoids)))
        return embedded


class ResBlock(nn.Module):
    """Two 3x3 convolutions around the time embedding, added to a shortcut: [B, inputs, H, W] to [B, outputs, H, W]."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        time_channels: int,
        dropout: KeyedDropout,
        *,
        channels_last: bool = True,
    ) -> None:
        super().__init__()
        self.norm1 = Norm(inputs)
        self.conv1 = conv3x3(inputs, outputs, channels_last=channels_last)
        self.time = nn.Linear(time_channels, outputs)
        self.norm2 = Norm(outputs)
        self.dropout = dropout
        self.conv2 = conv3x3(outputs, outputs, channels_last=channels_last)
        self.shortcut = nn.Identity() if inputs == outputs else PerPixel(inputs, outputs)

    def forward(self, x: torch.Tensor, time: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        hidden = self.conv1(F.silu(self.norm1(x)))
        hidden = hidden + self.time(F.silu(time))[:, :, None, None]
        hidden = self.conv2(self.dropout(F.silu(self.norm2(hidden)), keys))
        out: torch.Tensor = self.shortcut(x) + hidden
        return out


class Attention(nn.Module):
    """Self-attention over all places of an image, one head, added to its input: [B, C, H, W] to the same."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = Norm(channels)
        self.query_key_value = nn.Linear(channels, 3 * channels)
        self.project = nn.Linear(channels, channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        tokens = self.norm(x).flatten(2).transpose(1, 2)  # [B, H*W, C]
        query, key, value = self.query_key_value(tokens).unsqueeze(1).chunk(3, dim=-1)
        attended = self.project(F.scaled_dot_product_attention(query, key, value).squeeze(1))
        out: torch.Tensor = x + attended.transpose(1, 2).reshape(x.shape)
        return out


class Level(nn.Module):
    """A ResBlock, followed by attention at some resolutions."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        time_channels: int,
        dropout: KeyedDropout,
        *,
        attention: bool,
        channels_last: bool,
    ) -> None:
        super().__init__()
        self.res = ResBlock(inputs, outputs, time_channels, dropout, channels_last=channels_last)
        self.attention = Attention(outputs) if attention else nn.Identity()

    def forward(self, x: torch.Tensor, time: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.attention(self.res(x, time, keys))
        return out


class Downsample(nn.Module):
    """Half the resolution, by a strided convolution."""

    def __init__(self, channels: int, *, channels_last: bool) -> None:
        super().__init__()
        self.conv = conv3x3(channels, channels, channels_last=channels_last, stride=2)

    def forward(self, x: torch.Tensor, time: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:  # noqa: ARG002
        out: torch.Tensor = self.conv(x)
        return out


class Upsample(nn.Module):
    """Twice the resolution: nearest neighbours, then a convolution."""

    def __init__(self, channels: int, *, channels_last: bool) -> None:
        super().__init__()
        self.conv = conv3x3(channels, channels, channels_last=channels_last)

    def forward(self, x: torch.Tensor, time: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:  # noqa: ARG002
        out: torch.Tensor = self.conv(F.interpolate(x, scale_factor=2.0, mode="nearest"))
        return out
