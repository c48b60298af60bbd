"""ddpm_unet: a diffusion model learns to predict the noise in images (DDPM, Ho, Jain & Abbeel 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from bench import workloads
from bench.common.errors import InputError
from bench.workloads import _presets

if TYPE_CHECKING:
    import torch
    from torch import nn

    from bench.workloads import Batch

_CHANNELS = 3
_CLASSES = 10
_SYNTHETIC = 4_096
_VALIDATION_SEED = 1_000_003
"""Differs from every run's seed, so that all runs validate on the same noise."""
_NOISE, _TIME, _FLIP = 0, 1, 2
"""Streams of random numbers of one example; see bench/data/synthetic/keyed.py."""


@dataclass(frozen=True, kw_only=True)
class DdpmOptions:
    """Parameters of ddpm_unet; null values come from the preset."""

    preset: Literal["small", "original"] = "small"
    """`original`: the paper's CIFAR-10 model, 35.7 M parameters; `small`: 12 M, three resolutions, one block each."""
    base_channels: int | None = None
    """Channels at full resolution, a multiple of 32."""
    channel_multipliers: tuple[int, ...] | None = None
    """One per resolution, from full resolution down; each 1 or more."""
    num_res_blocks: int | None = None
    """ResBlocks per resolution on the way down, 1 or more; one more on the way up."""
    attention_resolutions: tuple[int, ...] = (16,)
    """Heights in pixels at which the model has self-attention; its middle always has it."""
    dropout: float = 0.0
    """Probability, 0 or more and below 1; masks depend on (seed, example), never on the rank."""
    image_size: int = 32
    """Height and width in pixels, halved for each further resolution. CIFAR-10 has 32."""
    channels_last: bool = True
    """Activations in NHWC."""
    validation_examples: int = 256
    """Held-out images to validate on, 0 to 10,000."""
    data_seed: int = 0
    """Seed of generated images (source `synthetic`); a repeat's seed does not change them."""

    def __post_init__(self) -> None:
        _presets.fill(self, "ddpm_unet", _PRESETS)
        assert self.base_channels is not None
        assert self.channel_multipliers is not None
        assert self.num_res_blocks is not None
        multipliers = list(self.channel_multipliers)
        if self.base_channels < 32 or self.base_channels % 32:
            raise InputError(
                f"ddpm_unet: base_channels is {self.base_channels}: GroupNorm needs a multiple of 32"
            )
        if not multipliers or min(multipliers) < 1:
            raise InputError(
                f"ddpm_unet: channel_multipliers is {multipliers}: give one per resolution, each 1 or more"
            )
        if self.num_res_blocks < 1:
            raise InputError(f"ddpm_unet: num_res_blocks is {self.num_res_blocks}: it must be 1 or more")
        smallest = 2 ** (len(multipliers) - 1)
        if self.image_size < smallest or self.image_size % smallest:
            raise InputError(
                f"ddpm_unet: image_size is {self.image_size}: {len(multipliers)} resolutions halve it "
                f"{len(multipliers) - 1} times, so it must be a multiple of {smallest}"
            )
        if not 0 <= self.dropout < 1:
            raise InputError(f"ddpm_unet: dropout is {self.dropout}: it must be at least 0 and below 1")
        if not 0 <= self.validation_examples <= 10_000:
            raise InputError(
                f"ddpm_unet: validation_examples is {self.validation_examples}: it must be 0 to 10000"
            )


_PRESETS: dict[str, dict[str, int | tuple[int, ...]]] = {
    "small": {"base_channels": 128, "channel_multipliers": (1, 1, 2), "num_res_blocks": 1},
    "original": {"base_channels": 128, "channel_multipliers": (1, 2, 2, 2), "num_res_blocks": 2},
}


class Workload(workloads.Workload):
    """Images of 3 channels. `cifar10`: 50,000 real ones under --data; or `synthetic`: 4,096 smooth patterns."""

    Options = DdpmOptions
    sources: ClassVar[tuple[str, ...]] = ("synthetic", "cifar10")

    def __init__(self, options: DdpmOptions, source: str, data_root: str | None, seed: int) -> None:
        if source == "cifar10" and data_root is None:
            raise InputError(
                "ddpm_unet: source cifar10 reads DIR/cifar-10-batches-py/data_batch_1 and its companions: "
                "give DIR with --data, or use source synthetic"
            )
        if source == "cifar10" and options.image_size != 32:
            raise InputError(
                f"ddpm_unet: image_size is {options.image_size}, CIFAR-10's is 32: remove it, or use source synthetic"
            )
        super().__init__(options, source, data_root, seed)

    def prepare(self) -> None:
        from bench.data.images import cifar10
        from bench.data.synthetic import synthetic

        held_out = self.options.validation_examples
        if self.source == "cifar10":
            assert self.data_root is not None
            self._images, test = cifar10.read(Path(self.data_root))
            self._held_out = test[:held_out]
        else:
            count, size = _SYNTHETIC + held_out, self.options.image_size
            images, _ = synthetic.patterns(count, _CLASSES, _CHANNELS, size, self.options.data_seed)
            self._images, self._held_out = images[:_SYNTHETIC], images[_SYNTHETIC:]
        self.dataset_size, self.validation_size = len(self._images), len(self._held_out)

    def model(self) -> nn.Module:
        from bench.models.unet import Unet, UnetConfig

        options = self.options
        assert options.base_channels is not None
        assert options.channel_multipliers is not None
        assert options.num_res_blocks is not None
        config = UnetConfig(
            image_size=options.image_size,
            image_channels=_CHANNELS,
            base_channels=options.base_channels,
            channel_multipliers=options.channel_multipliers,
            num_res_blocks=options.num_res_blocks,
            attention_resolutions=options.attention_resolutions,
            dropout=options.dropout,
            seed=self.seed,
            channels_last=options.channels_last,
        )
        return Unet(config)

    def blocks(self, model: nn.Module) -> list[nn.Module]:
        from bench.models.unet import Unet

        assert isinstance(model, Unet)
        return model.levels()

    def batch(self, places: torch.Tensor, keys: torch.Tensor) -> Batch:
        """`images` uint8 [B, 3, H, W] and `key` int64 [B]. Bytes go to the device, which does all arithmetic."""
        return {"images": self._images.index_select(0, places), "key": keys}

    def loss(self, model: nn.Module, batch: Batch) -> torch.Tensor:
        import torch
        from torch.nn.functional import mse_loss

        from bench.data.synthetic import keyed

        images, keys = batch["images"], batch["key"]
        mirrored = keyed.uniform(self.seed, keys, 1, _FLIP) < 0.5
        images = torch.where(mirrored[:, :, None, None], images.flip(3), images)
        return mse_loss(*self._predict(model, images, keys, self.seed))

    def validation_batch(self, indices: list[int]) -> Batch:
        import torch

        return {"images": self._held_out[indices], "key": torch.tensor(indices)}

    def evaluate(self, model: nn.Module, batch: Batch) -> tuple[torch.Tensor, torch.Tensor | None]:
        predicted, noise = self._predict(model, batch["images"], batch["key"], _VALIDATION_SEED)
        return (predicted - noise).square().mean(dim=(1, 2, 3)), None

    def _predict(
        self, model: nn.Module, images: torch.Tensor, keys: torch.Tensor, seed: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Predicted and true noise, both float32 [B, 3, H, W]; noise and time steps are drawn on the device."""
        from bench.data.synthetic import keyed
        from bench.models.diffusion import TIME_STEPS, diffuse

        clean = images.float().mul_(2 / 255).sub_(1)
        steps = keyed.randint(seed, keys, TIME_STEPS, _TIME)
        noise = keyed.normal(seed, keys, clean[0].numel(), _NOISE).view(clean.shape)
        return model(diffuse(clean, noise, steps), steps, keys).float(), noise
