"""Compare a training step of ddpm_unet's model with diffusers' UNet2DModel of equal shape, both in plain PyTorch.

A step is forward, MSE, backward, AdamW, zero_grad on the same noisy images. Both models are built from sizes; nothing
is downloaded. diffusers' model runs in PyTorch's own layout and, in a separate row, with everything in channels_last.

    uv sync --all-extras --group dev --group benchmarks
    python benchmarks/against_diffusers.py [--shape original] [--device cuda] [--precision bf16] [--seconds 60]
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from typing import Any

import interleaved
import plain
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - its name everywhere

from bench.models.diffusion import TIME_STEPS
from bench.models.unet import Unet, UnetConfig


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Sizes that both models support."""

    image: int
    base: int
    multipliers: tuple[int, ...]
    blocks: int
    """ResBlocks per resolution on the way down."""
    attention: int
    """Height at which the model has attention."""
    batch: int


SHAPES = {
    "small": Shape(image=32, base=64, multipliers=(1, 2), blocks=1, attention=16, batch=4),
    "original": Shape(image=32, base=128, multipliers=(1, 2, 2, 2), blocks=2, attention=16, batch=2),
}
"""`original`: DDPM's CIFAR-10 model, 35.7 M parameters."""


def ours(shape: Shape) -> nn.Module:
    config = UnetConfig(
        image_size=shape.image, image_channels=3, base_channels=shape.base, channel_multipliers=shape.multipliers,
        num_res_blocks=shape.blocks, attention_resolutions=(shape.attention,), dropout=0.0, seed=0, channels_last=True,
    )  # fmt: skip
    return Unet(config)


def theirs(shape: Shape) -> nn.Module:
    from diffusers import UNet2DModel

    heights = [shape.image >> depth for depth in range(len(shape.multipliers))]
    attends = ["Attn" if height == shape.attention else "" for height in heights]
    model: nn.Module = UNet2DModel(
        sample_size=shape.image,
        block_out_channels=tuple(shape.base * multiplier for multiplier in shape.multipliers),
        layers_per_block=shape.blocks,
        down_block_types=tuple(f"{attention}DownBlock2D" for attention in attends),
        up_block_types=tuple(f"{attention}UpBlock2D" for attention in reversed(attends)),
        attention_head_dim=None,  # one head, as in the paper
        norm_num_groups=32,
        norm_eps=1e-6,
        downsample_padding=1,
        flip_sin_to_cos=False,
        freq_shift=1,
    )
    return model


class Step:
    """Forward, loss, backward, optimizer and zero_grad of one model on one batch."""

    def __init__(self, model: nn.Module, shape: Shape, asked: argparse.Namespace, *, keyed: bool) -> None:
        self.model = model.to(asked.device).train()
        generator = torch.Generator().manual_seed(0)
        images = torch.randn(2, shape.batch, 3, shape.image, shape.image, generator=generator)
        self.noisy, self.noise = images.to(asked.device)
        self.steps = torch.randint(TIME_STEPS, (shape.batch,), generator=generator).to(asked.device)
        self.keys = [torch.arange(shape.batch, device=asked.device)] if keyed else []
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        self.autocast = plain.autocast(asked.device, asked.precision)

    def __call__(self) -> None:
        with self.autocast:
            answer: Any = self.model(self.noisy, self.steps, *self.keys)
            predicted = answer if isinstance(answer, torch.Tensor) else answer.sample
            loss = F.mse_loss(predicted.float(), self.noise)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()


def compare(name: str, asked: argparse.Namespace) -> None:
    shape = SHAPES[name]
    mine, other = ours(shape), theirs(shape)
    print(f"{name}: ours {plain.parameters(mine):,} parameters, diffusers' {plain.parameters(other):,}")
    first = plain.block(Step(mine, shape, asked, keyed=True), asked.device)
    for layout in (torch.contiguous_format, torch.channels_last):
        second = Step(other.to(memory_format=layout), shape, asked, keyed=False)
        second.noisy = second.noisy.contiguous(memory_format=layout)
        times = interleaved.measure(first, plain.block(second, asked.device), seconds=asked.seconds)
        print(interleaved.row(str(layout).removeprefix("torch.").removesuffix("_format"), times), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", choices=sorted(SHAPES), action="append", help="[default: all]")
    parser.add_argument("--seconds", type=float, default=60, help="per shape and layout")
    plain.add_options(parser)
    asked = parser.parse_args()
    plain.settle(asked)
    print(interleaved.HEAD)
    for name in asked.shape or SHAPES:
        compare(name, asked)


if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # nothing is asked of any network
    main()
