"""vit_b_16: torchvision's vision transformer on pictures (Dosovitskiy et al. 2021); it has no BatchNorm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Le

from bench.common.errors import InputError
from bench.workloads._image_classifier import ImageClassifier

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True, kw_only=True)
class VitOptions:
    """Parameters of vit_b_16; the defaults are ViT-B/16. There is no dropout, because torchvision's masks would change
    with the world size."""

    image_size: Annotated[int, Ge(16), Le(1024)] = 224
    """Height and width, in pixels, of the model's input; a multiple of patch_size."""
    classes: Annotated[int, Ge(2), Le(100_000)] = 1000
    """Number of classes; that of an ImageFolder's folders."""
    patch_size: Annotated[int, Ge(4), Le(64)] = 16
    """Height and width, in pixels, of a patch, which is one token."""
    layers: Annotated[int, Ge(1), Le(100)] = 12
    """Encoder layers; ViT-L/16 has 24."""
    heads: Annotated[int, Ge(1), Le(128)] = 12
    """Attention heads; hidden_dim must be a multiple of them. ViT-L/16 has 16."""
    hidden_dim: Annotated[int, Ge(1), Le(16_384)] = 768
    """Width of a token; ViT-L/16 has 1,024."""
    mlp_dim: Annotated[int, Ge(1), Le(65_536)] = 3072
    """Width of a layer's perceptron; ViT-L/16 has 4,096."""
    train_examples: Annotated[int, Ge(1), Le(20_000_000)] = 1_281_167
    """Generated pictures of an epoch (`synthetic`, `encoded`); the default is the number in ImageNet-1k."""
    validation_examples: Annotated[int, Ge(0), Le(50_000)] = 256
    """Held-out pictures to validate on."""
    stored_size: Annotated[int, Ge(32), Le(1024)] = 448
    """Height and width, in pixels, of the generated JPEGs (`encoded`)."""
    data_seed: int = 0
    """Seed of generated pictures; a repeat's seed does not change them."""

    def __post_init__(self) -> None:
        if self.image_size % self.patch_size:
            raise InputError(
                f"vit_b_16: image_size is {self.image_size}, patch_size {self.patch_size}: "
                "a picture must be a whole number of patches"
            )
        if self.hidden_dim % self.heads:
            raise InputError(
                f"vit_b_16: hidden_dim is {self.hidden_dim}, heads {self.heads}: hidden_dim must be a multiple of heads"
            )


class Workload(ImageClassifier):
    """Pictures of 3 channels. `synthetic`: made on the device; `encoded`: generated JPEGs that the loader decodes;
    `imagefolder`: real ones under --data."""

    Options = VitOptions
    name = "vit_b_16"

    def model(self) -> nn.Module:
        from torchvision.models.vision_transformer import VisionTransformer

        options = self.options
        model: nn.Module = VisionTransformer(
            image_size=options.image_size,
            patch_size=options.patch_size,
            num_layers=options.layers,
            num_heads=options.heads,
            hidden_dim=options.hidden_dim,
            mlp_dim=options.mlp_dim,
            num_classes=options.classes,
        )
        return model

    def blocks(self, model: nn.Module) -> list[nn.Module]:
        """Every encoder layer."""
        return list(model.get_submodule("encoder.layers").children())
