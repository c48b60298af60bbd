"""Common part of the workloads with torchvision's image classifiers: everything except the model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from bench.common.errors import InputError
from bench.workloads import Workload

if TYPE_CHECKING:
    import torch
    from torch import nn

    from bench.workloads import Batch


class _Examples(Protocol):
    """Source of pictures."""

    @property
    def examples(self) -> int: ...
    @property
    def held_out(self) -> int: ...
    def batch(self, places: torch.Tensor, keys: torch.Tensor) -> Batch: ...
    def validation_batch(self, indices: list[int]) -> Batch: ...
    def pixels(self, batch: Batch) -> torch.Tensor: ...


class ImageClassifier(Workload):
    """Pictures of 3 channels, and the class of each."""

    sources: ClassVar[tuple[str, ...]] = ("synthetic", "encoded", "imagefolder")
    name: ClassVar[str]
    _examples: _Examples

    def __init__(self, options: Any, source: str, data_root: str | None, seed: int) -> None:
        if source == "imagefolder" and data_root is None:
            raise InputError(
                f"{self.name}: source imagefolder reads DIR/train/CLASS/NAME.jpg and DIR/val/CLASS/NAME.jpg: "
                "give DIR with --data, or use source encoded, whose pictures are generated"
            )
        super().__init__(options, source, data_root, seed)

    def prepare(self) -> None:
        import torchvision  # noqa: F401 - if it is missing, preflight says so: the model needs it

        self._examples = self._read()
        self.dataset_size, self.validation_size = self._examples.examples, self._examples.held_out

    def _read(self) -> _Examples:
        options, held_out = self.options, self.options.validation_examples
        if self.source == "synthetic":
            from bench.data.images.generated import GeneratedImages

            return GeneratedImages(
                size=options.image_size,
                classes=options.classes,
                examples=options.train_examples,
                held_out=held_out,
                seed=options.data_seed,
            )
        from bench.data.images import encoded, folder
        from bench.data.images.decoded import DecodedImages, Stored

        train: Stored
        validation: Stored
        if self.source == "imagefolder":
            assert self.data_root is not None
            train, validation = folder.read(Path(self.data_root), options.classes, held_out=held_out)
            held_out = min(held_out, len(validation))
        else:
            train, validation = encoded.generate(
                options.train_examples, held_out, options.classes, options.stored_size, options.data_seed
            )
        return DecodedImages(
            train=train, validation=validation, held_out=held_out, size=options.image_size, seed=self.seed
        )

    def batch(self, places: torch.Tensor, keys: torch.Tensor) -> Batch:
        return self._examples.batch(places, keys)

    def pixels(self, batch: Batch) -> torch.Tensor:
        """The model's input: float32 [B, 3, image_size, image_size] on the batch's device."""
        return self._examples.pixels(batch).contiguous()

    def loss(self, model: nn.Module, batch: Batch) -> torch.Tensor:
        from torch.nn.functional import cross_entropy

        return cross_entropy(model(self.pixels(batch)), batch["labels"])

    def validation_batch(self, indices: list[int]) -> Batch:
        return self._examples.validation_batch(indices)

    def evaluate(self, model: nn.Module, batch: Batch) -> tuple[torch.Tensor, torch.Tensor | None]:
        from torch.nn.functional import cross_entropy

        logits = model(self.pixels(batch))
        correct = logits.argmax(dim=1) == batch["labels"]
        return cross_entropy(logits, batch["labels"], reduction="none"), correct.float()
