"""mnist_cnn: a small convolutional network on hand-written digits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from bench import workloads
from bench.common.errors import InputError

if TYPE_CHECKING:
    import torch
    from torch import nn

    from bench.workloads import Batch

_SIZE = 28
_SYNTHETIC = 4_096
_SYNTHETIC_HELD_OUT = 512


@dataclass(frozen=True, kw_only=True)
class MnistOptions:
    """Parameters of mnist_cnn."""

    data_seed: int = 0
    """Seed of generated images (source `synthetic`); a repeat's seed does not change them."""


class Workload(workloads.Workload):
    """Ten digits. `digits`: 1,797 shipped real ones; `mnist`: the full set under --data; or `synthetic`."""

    Options = MnistOptions
    sources: ClassVar[tuple[str, ...]] = ("digits", "mnist", "synthetic")

    def __init__(self, options: MnistOptions, source: str, data_root: str | None, seed: int) -> None:
        super().__init__(options, source, data_root, seed)
        if source == "mnist" and data_root is None:
            raise InputError(
                "mnist_cnn: source mnist reads DIR/MNIST/raw/train-images-idx3-ubyte and its three companions: "
                "give DIR with --data, or use source digits"
            )

    def prepare(self) -> None:
        import torch

        from bench.data.images import mnist
        from bench.data.synthetic import synthetic

        if self.source == "synthetic":
            count = _SYNTHETIC + _SYNTHETIC_HELD_OUT
            images, labels = synthetic.patterns(count, 10, 1, _SIZE, self.options.data_seed)
            held_out, images = images[_SYNTHETIC:], images[:_SYNTHETIC]
            self._labels, self._held_out_labels = labels[:_SYNTHETIC], labels[_SYNTHETIC:]
        else:
            root = mnist.DIGITS if self.data_root is None or self.source == "digits" else Path(self.data_root)
            (images, self._labels), (held_out, self._held_out_labels) = mnist.read(root)
        self.dataset_size, self.validation_size = len(self._labels), len(self._held_out_labels)
        self._images, self._held_out = mnist.resize(images, _SIZE), mnist.resize(held_out, _SIZE)
        deviation, mean = torch.std_mean(self._images.float())
        self._mean, self._scale = mean.item(), 1 / deviation.item()

    def model(self) -> nn.Module:
        from bench.models.cnn import Cnn

        return Cnn()

    def blocks(self, model: nn.Module) -> list[nn.Module]:
        return [model.get_submodule("features"), model.get_submodule("classifier")]

    def batch(self, places: torch.Tensor, keys: torch.Tensor) -> Batch:  # noqa: ARG002 - nothing here is random
        # bytes instead of float32: a quarter of the copy to the device
        return {
            "images": self._images.index_select(0, places),
            "labels": self._labels.index_select(0, places),
        }

    def loss(self, model: nn.Module, batch: Batch) -> torch.Tensor:
        from torch.nn.functional import cross_entropy

        return cross_entropy(model(self._normalised(batch)), batch["labels"])

    def validation_batch(self, indices: list[int]) -> Batch:
        return {"images": self._held_out[indices], "labels": self._held_out_labels[indices]}

    def evaluate(self, model: nn.Module, batch: Batch) -> tuple[torch.Tensor, torch.Tensor | None]:
        from torch.nn.functional import cross_entropy

        logits = model(self._normalised(batch))
        correct = logits.argmax(dim=1) == batch["labels"]
        return cross_entropy(logits, batch["labels"], reduction="none"), correct.float()

    def _normalised(self, batch: Batch) -> torch.Tensor:
        """float32 [B, 1, 28, 28] of mean 0 and variance 1 over the training images."""
        return batch["images"].float().sub_(self._mean).mul_(self._scale)
