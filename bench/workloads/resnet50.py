"""resnet50: torchvision's residual network on pictures (He et al. 2016), the usual measure of training systems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Le

from bench.common.errors import InputError
from bench.workloads._image_classifier import ImageClassifier

if TYPE_CHECKING:
    import torch
    from torch import nn

    from bench.workloads import Batch


@dataclass(frozen=True, kw_only=True)
class ResnetOptions:
    """Parameters of resnet50."""

    image_size: Annotated[int, Ge(32), Le(1024)] = 224
    """Height and width, in pixels, of the model's input."""
    classes: Annotated[int, Ge(2), Le(100_000)] = 1000
    """Number of classes; that of an ImageFolder's folders."""
    channels_last: bool = True
    """Activations in NHWC."""
    layers: tuple[int, ...] = (3, 4, 6, 3)
    """Bottleneck blocks of the four stages, each 1 to 100; (3, 4, 23, 3) is ResNet-101, (3, 8, 36, 3) ResNet-152."""
    train_examples: Annotated[int, Ge(1), Le(20_000_000)] = 1_281_167
    """Generated pictures of an epoch (`synthetic`, `encoded`); the default is the number in ImageNet-1k."""
    validation_examples: Annotated[int, Ge(0), Le(50_000)] = 256
    """Held-out pictures to validate on."""
    stored_size: Annotated[int, Ge(32), Le(1024)] = 448
    """Height and width, in pixels, of the generated JPEGs (`encoded`)."""
    data_seed: int = 0
    """Seed of generated pictures; a repeat's seed does not change them."""

    def __post_init__(self) -> None:
        if len(self.layers) != 4 or not all(1 <= blocks <= 100 for blocks in self.layers):
            raise InputError(
                f"resnet50: layers is {list(self.layers)}: give the blocks of four stages, each 1 to 100"
            )


class Workload(ImageClassifier):
    """Pictures of 3 channels. `synthetic`: made on the device; `encoded`: generated JPEGs that the loader decodes;
    `imagefolder`: real ones under --data. BatchNorm uses the statistics of a rank's own batch, so there is no verdict
    on whether world sizes train alike; with train.checkpointing it updates its running statistics twice a step."""

    Options = ResnetOptions
    name = "resnet50"
    batch_norm = True

    def model(self) -> nn.Module:
        from torchvision.models.resnet import Bottleneck, ResNet

        from bench.models import nhwc

        model: nn.Module = ResNet(Bottleneck, list(self.options.layers), num_classes=self.options.classes)
        if self.options.channels_last:
            nhwc.adopt(model)
        return model

    def blocks(self, model: nn.Module) -> list[nn.Module]:
        """Every bottleneck."""
        return [block for stage in range(1, 5) for block in model.get_submodule(f"layer{stage}").children()]

    def pixels(self, batch: Batch) -> torch.Tensor:
        """The pictures' memory layout also becomes that of activations."""
        import torch

        layout = torch.channels_last if self.options.channels_last else torch.contiguous_format
        return self._examples.pixels(batch).contiguous(memory_format=layout)
