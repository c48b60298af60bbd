"""Common part of the workloads with torchvision's image classifiers: everything except the model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

from bench.common.errors import InputError

if TYPE_CHECKING:
    import torch
    from torch import nn

    from bench.workloads import Batch


class _Options(Protocol):
    """Options that these workloads share."""

    @property
    def image_size(self) -> int: ...
    @property
    def classes(self) -> int: ...
    @property
    def train_examples(self) -> int: ...
    @property
    def validation_examples(self) -> int: ...
    @property
    def stored_size(self) -> int: ...
    @property
    def data_seed(self) -> int: ...


class _Examples(Protocol):
    """Source of pictures."""

    @property
    def examples(self) -> int: ...
    @property
    def held_out(self) -> int: ...
    def batch(self, places: torch.Tensor, keys: torch.Tensor) -> Batch: ...
    def validation_batch(self, indices: list[int]) -> Batch: ...
    def pixels(self, batch: Batch) -> torch.Tensor: ...


class ImageClassifier:
    """Pictures of 3 channels, and the class of each."""

    sources: ClassVar[tuple[str, ...]] = ("synthetic", "encoded", "imagefolder")
    name: ClassVar[str]
    _examples: _Examples

    def __init__(self, options: _Options, source: str, data_root: str | None, seed: int) -> None:
        if source == "imagefolder" and data_root is None:
            raise InputError(
                f"{self.name}: source imagefolder reads DIR/train/CLASS/NAME.jpg and DIR/val/CLASS/NAME.jpg: "
                "give DIR with --data, or use source encoded, whose pictures are generated"
            )
        self._common = options
        self._source = source
        self._root = data_root
        self._seed = seed

    def prepare(self) -> None:
        options, held_out = self._common, self._common.validation_examples
        if self._source == "synthetic":
            from bench.data.images.generated import GeneratedImages

            self._examples = GeneratedImages(
                size=options.image_size,
                classes=options.classes,
                examples=options.train_examples,
                held_out=held_out,
                seed=options.data_seed,
            )
            return
        from bench.data.images import encoded, folder
        from bench.data.images.decoded import DecodedImages, Stored

        train: Stored
        validation: Stored
        if self._source == "imagefolder":
            assert self._root is not None
            train, validation = folder.read(Path(self._root), options.classes, held_out=held_out)
            held_out = min(held_out, len(validation))
        else:
            train, validation = encoded.generate(
                options.train_examples, held_out, options.classes, options.stored_size, options.data_seed
            )
        self._examples = DecodedImages(
            train=train, validation=validation, held_out=held_out, size=options.image_size, seed=self._seed
        )

    @property
    def dataset_size(self) -> int:
        return self._examples.examples

    @property
    def tokens_per_example(self) -> int | None:
        return None

    def batch(self, places: torch.Tensor, keys: torch.Tensor) -> Batch:
        return self._examples.batch(places, keys)

    def pixels(self, batch: Batch) -> torch.Tensor:
        """The model's input: float32 [B, 3, image_size, image_size] on the batch's device."""
        return self._examples.pixels(batch).contiguous()

    def loss(self, model: nn.Module, batch: Batch) -> torch.Tensor:
        from torch.nn.functional import cross_entropy

        return cross_entropy(model(self.pixels(batch)), batch["labels"])

    @property
    def validation_size(self) -> int:
        return self._examples.held_out

    def validation_batch(self, indices: list[int]) -> Batch:
        return self._examples.validation_batch(indices)

    def evaluate(self, model: nn.Module, batch: Batch) -> tuple[torch.Tensor, torch.Tensor | None]:
        from torch.nn.functional import cross_entropy

        logits = model(self.pixels(batch))
        correct = logits.argmax(dim=1) == batch["labels"]
        return cross_entropy(logits, batch["labels"], reduction="none"), correct.float()
