"""A custom workload: `model`, `batch` and `loss` are required, everything else has a default here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from bench.common.custom_part import CustomPart, NoOptions
from bench.common.errors import InputError
from bench.records.vocabulary import is_metric

if TYPE_CHECKING:
    import torch
    from torch import nn

    from bench.workloads import Batch


class Defaults:
    """Defaults for everything that a custom workload leaves out."""

    Options: ClassVar[type[Any]] = NoOptions
    sources: ClassVar[tuple[str, ...]] = ("synthetic",)
    dataset_size: int = 4_096
    tokens_per_example: int | None = None
    validation_size: int = 0

    def __init__(self, options: Any, source: str, data_root: str | None, seed: int) -> None:
        self.options = options
        self.source = source
        self.data_root = data_root
        self.seed = seed

    def prepare(self) -> None:
        """Nothing to read."""

    def blocks(self, model: nn.Module) -> list[nn.Module]:
        """Repeated layers, such as the blocks of a transformer, and the children around them that have parameters; but
        not those that share parameters, which cannot be sharded separately. A model of a single layer has none."""
        parts = list(_units(model))
        owners = Counter(id(one) for part in parts for one in part.parameters())
        return [part for part in parts if all(owners[id(one)] == 1 for one in part.parameters())]

    def validation_batch(self, indices: list[int]) -> Batch:
        """The held-out examples follow the training examples: they are at places from dataset_size on."""
        import torch

        places = torch.tensor(indices) + self.dataset_size
        batch: Batch = self.batch(places, places)  # type: ignore[attr-defined] # the user's
        return batch

    def evaluate(self, model: nn.Module, batch: Batch) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Gives each example its batch's mean loss; the mean over all held-out examples stays the same."""
        from torch import Tensor

        if not hasattr(self, "loss"):
            raise TypeError("a workload with step() and without loss() needs its own evaluate()")
        examples = [len(part) for part in batch.values() if isinstance(part, Tensor) and part.dim()]
        if not examples:
            raise TypeError(
                "the batch has no tensor whose first dimension counts the examples: write evaluate"
            )
        found = self.loss(model, batch)  # a tensor, or a dict that names several
        loss: Tensor = found["loss"] if isinstance(found, dict) else found
        return loss.expand(examples[0]), None


def _units(module: nn.Module) -> Iterator[nn.Module]:
    """Repeated layers, wherever they are; around them, children that are called as modules. Containers have no forward
    of their own, so their members count."""
    from torch.nn import ModuleDict, ModuleList, ParameterDict, ParameterList

    for child in module.children():
        if not _is_repeated(module) and (
            isinstance(child, ModuleList | ModuleDict) or any(map(_is_repeated, child.modules()))
        ):
            yield from _units(child)
        elif (
            not isinstance(child, ParameterList | ParameterDict)
            and next(child.parameters(), None) is not None
        ):
            yield child


def _is_repeated(part: nn.Module) -> bool:
    """Whether the module is a list in which two or more members with children of their own have one class."""
    from torch.nn import ModuleList, Sequential

    if not isinstance(part, ModuleList | Sequential):
        return False
    layers = Counter(type(layer) for layer in part if next(layer.children(), None) is not None)
    return max(layers.values(), default=0) > 1


def _check_attributes(whole: Any, label: str) -> None:
    sources = whole.sources
    named = isinstance(sources, tuple | list) and all(isinstance(source, str) for source in sources)
    if not named or not sources:
        raise InputError(
            f'sources of {label} is {sources!r}: give a class attribute with a tuple of names, as in ("synthetic",)'
        )
    metric = getattr(whole, "metric", "accuracy")
    if not isinstance(metric, str) or not is_metric(metric):
        raise InputError(
            f"metric of {label} is {metric!r}: `metric` names the score of evaluate(): rename your attribute, or give "
            'text of up to 32 letters and digits, as in "Dice" or "recall@5"'
        )


WORKLOAD = CustomPart(
    word="workload",
    group="bench.workloads",
    required=("model", "batch", "loss"),
    checked_later=("batch",),
    instead={"loss": "step"},
    called_with={
        "__init__": ("options", "source", "data_root", "seed"),
        "prepare": (),
        "model": (),
        "blocks": ("model",),
        "batch": ("places", "keys"),
        "loss": ("model", "batch"),
        "step": ("model", "batch", "step"),
        "validation_batch": ("indices",),
        "evaluate": ("model", "batch"),
        "examples_in": ("batch",),
        "tokens_in": ("batch",),
        "tp_plan": ("model", "*", "size", "sequence_parallel"),
        "stages": ("model", "count"),
        "experts": ("model",),
        "cp_batch": ("batch", "*", "size"),
    },
    defaults=Defaults,
    check=_check_attributes,
)
