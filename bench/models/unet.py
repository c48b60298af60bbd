"""The U-Net of DDPM (Ho, Jain & Abbeel 2020, appendix B), with the sizes and initialisation of the authors' code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - its name everywhere

from bench.models.keyed_dropout import KeyedDropout, number_streams
from bench.models.nhwc import NhwcConv2d
from bench.models.unet_layers import (
    Attention,
    Downsample,
    Level,
    Norm,
    ResBlock,
    TimeEmbedding,
    Upsample,
    conv3x3,
)


@dataclass(frozen=True, kw_only=True)
class UnetConfig:
    """Sizes of a U-Net."""

    image_size: int
    """Height and width in pixels."""
    image_channels: int
    base_channels: int
    """Channels at full resolution, before the multiplier."""
    channel_multipliers: Sequence[int]
    """One per resolution, from full resolution down; each further one has half the height and width."""
    num_res_blocks: int
    """Per resolution on the way down; one more on the way up."""
    attention_resolutions: Sequence[int]
    """Heights at which self-attention follows each ResBlock; the middle always has it."""
    dropout: float
    """Probability."""
    seed: int
    """Seed of the dropout masks."""
    channels_last: bool
    """Activations in NHWC, and weights of convolutions in the matching order."""


class Unet(nn.Module):
    """Predicts the noise in images x [B, C, H, W] at time steps int64 [B]; keys int64 [B] are for dropout alone."""

    def __init__(self, config: UnetConfig) -> None:
        super().__init__()
        self.config = config
        base = config.base_channels
        self.time = TimeEmbedding(base, 4 * base)
        self.stem = self._conv(config.image_channels, base)
        self.down = nn.ModuleList()
        self.up = nn.ModuleList()
        skips = self._go_down()
        deepest = skips[-1]
        self.middle = nn.ModuleList(
            [
                self._level(deepest, deepest, attention=True),
                self._level(deepest, deepest, attention=False),
            ]
        )
        self._go_up(skips)
        self.head_norm = Norm(base * config.channel_multipliers[0])
        self.head = self._conv(base * config.channel_multipliers[0], config.image_channels)
        self._initialise()

    def _go_down(self) -> list[int]:
        """Fill `down`. Returns the channels of every output that a level on the way up uses."""
        config, size = self.config, self.config.image_size
        skips = [config.base_channels]
        for depth, multiplier in enumerate(config.channel_multipliers):
            if depth > 0:
                self.down.append(Downsample(skips[-1], channels_last=config.channels_last))
                skips.append(skips[-1])
                size //= 2
            for _ in range(config.num_res_blocks):
                attention = size in config.attention_resolutions
                self.down.append(
                    self._level(skips[-1], multiplier * config.base_channels, attention=attention)
                )
                skips.append(multiplier * config.base_channels)
        return skips

    def _go_up(self, skips: list[int]) -> None:
        config, channels = self.config, skips[-1]
        for depth, multiplier in reversed(list(enumerate(config.channel_multipliers))):
            attention = config.image_size >> depth in config.attention_resolutions
            for _ in range(config.num_res_blocks + 1):
                outputs = multiplier * config.base_channels
                self.up.append(self._level(channels + skips.pop(), outputs, attention=attention))
                channels = outputs
            if depth > 0:
                self.up.append(Upsample(channels, channels_last=config.channels_last))

    def _level(self, inputs: int, outputs: int, *, attention: bool) -> Level:
        config = self.config
        dropout = KeyedDropout(config.dropout, config.seed)
        return Level(
            inputs, outputs, 4 * config.base_channels, dropout, attention=attention, channels_last=config.channels_last
        )  # fmt: skip

    def _conv(self, inputs: int, outputs: int) -> nn.Conv2d:
        return conv3x3(inputs, outputs, channels_last=self.config.channels_last)

    def _initialise(self) -> None:
        """Xavier-uniform weights, zero biases; the last convolution of every residual branch starts at zero."""
        number_streams(self)
        for module in self.modules():
            if isinstance(module, nn.Conv2d | nn.Linear):
                _xavier(module.kernel() if isinstance(module, NhwcConv2d) else module.weight)
                assert module.bias is not None
                nn.init.zeros_(module.bias)
        for module in self.modules():
            if isinstance(module, ResBlock):
                nn.init.zeros_(module.conv2.weight)
            elif isinstance(module, Attention):
                nn.init.zeros_(module.project.weight)
        nn.init.zeros_(self.head.weight)

    def forward(self, x: torch.Tensor, steps: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        if self.config.channels_last:
            x = x.contiguous(memory_format=torch.channels_last)
        time = self.time(steps)
        x = self.stem(x)
        skips = [x]
        for layer in self.down:
            x = layer(x, time, keys)
            skips.append(x)
        for layer in self.middle:
            x = layer(x, time, keys)
        for layer in self.up:
            if isinstance(layer, Level):
                x = torch.cat([x, skips.pop()], dim=1)
            x = layer(x, time, keys)
        noise: torch.Tensor = self.head(F.silu(self.head_norm(x)))
        return noise

    def levels(self) -> list[nn.Module]:
        """Every level and every change of resolution, in the order in which they run."""
        return [*self.down, *self.middle, *self.up]


def _xavier(weight: torch.Tensor) -> None:
    """The weight gets the same numbers for every memory layout."""
    with torch.no_grad():
        weight.copy_(nn.init.xavier_uniform_(torch.empty(weight.shape, device=weight.device)))
