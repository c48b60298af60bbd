"""The base class of workloads, and the shipped ones: one file each, whose name is the workload's name.

A workload defines its options, model, examples and loss. It knows nothing about strategies, world sizes or timing. A
shipped one's module must import without torch, because checking a suite never loads torch: import torch inside methods,
and keep models of more than a few layers in bench/models/.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from annotated_types import Ge, Le

from bench.common import custom_file
from bench.common.custom_file import NoOptions, OptionsClass
from bench.common.errors import InputError
from bench.records.vocabulary import COMMAND, LARGEST_SIZE, Metric, Positive, Size

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch
    from torch import nn
    from torch.distributed.tensor.parallel import ParallelStyle

    from bench.measure.machine.speed import Machine

    Batch = dict[str, torch.Tensor]
    """Tensors; in a custom workload also other objects that `to(device, non_blocking=True)` moves, such as graphs."""


class Workload(ABC):
    """A training: a model, examples and a loss. A subclass writes `model`, `batch` and `loss`; all else has a default.

    Every rank makes one and calls `prepare` once. Every world size trains on the same global batches."""

    Options: ClassVar[OptionsClass] = NoOptions
    """A frozen, keyword-only dataclass of the parameters that a suite may set next to `name`, with types and
    defaults."""
    sources: ClassVar[tuple[str, ...]] = ("synthetic",)
    """Values of `data.source` that it accepts; `synthetic` stands for generated data."""
    metric: ClassVar[Metric | None] = None
    """The name of the score of `evaluate`, as in `Dice`: up to 32 letters and digits. null: accuracy."""
    couples_examples: ClassVar[bool] = False
    """Whether an example's loss depends on the others of its batch, as a contrastive loss does. Then there is no
    verdict on whether world sizes train alike. BatchNorm is detected without it."""
    batch_norm: ClassVar[bool] = False
    """Whether the model has BatchNorm. A suite that combines it with fsdp and parameters in half precision, which
    BatchNorm does not accept, is then refused."""
    measures_machine: ClassVar[bool] = False
    """True only for a MachineWorkload."""
    dataset_size: Annotated[int, Ge(1), Le(LARGEST_SIZE)] = 4_096
    """Training examples in one epoch. This and the next three may also be set in `__init__` or `prepare`, or be
    properties."""
    tokens_per_example: Positive | None = None
    """Tokens of an example, for text, to show tokens/s."""
    validation_size: Size = 0
    """Examples to validate on; 0: no validation."""
    largest_validation_batch: Annotated[int, Ge(1), Le(LARGEST_SIZE)] = 256
    """Examples of a rank in one forward pass of validation."""

    def __init__(self, options: Any, source: str, data_root: str | None, seed: int) -> None:
        """Must be cheap: read data in `prepare`. `options`: an instance of Options; `source`: data.source; `data_root`:
        the folder of --data; `seed`: the run's, which depends on the repeat."""
        self.options = options
        self.source = source
        self.data_root = data_root
        self.seed = seed

    def prepare(self) -> None:  # noqa: B027 - a default, not forgotten
        """Read or generate the examples. Raise an error that names the path of a missing file."""

    @abstractmethod
    def model(self) -> nn.Module:
        """A new model on the CPU, initialised from torch's default generator, which is seeded."""

    @abstractmethod
    def batch(self, places: torch.Tensor, keys: torch.Tensor) -> Batch:
        """The examples, on the CPU, at `places` of the data set (int64 [B], from 0 to dataset_size - 1). `keys` (int64
        [B]) are their positions in the whole training stream: derive the random numbers of an example from (seed, key)
        alone, and they are the same at every world size."""

    @abstractmethod
    def loss(self, model: nn.Module, batch: Batch) -> torch.Tensor:
        """The mean loss over the batch's examples, a scalar. The batch is on the model's device. Only call the model:
        under ddp it is wrapped, and its own attributes cannot be reached."""

    def blocks(self, model: nn.Module) -> list[nn.Module]:
        """Submodules that fsdp shards, and that checkpointing recomputes, as one unit each; without the model itself.

        The default: repeated layers, such as the blocks of a transformer, and the children around them that have
        parameters; but not those that share parameters, which cannot be sharded separately. A model of a single layer
        has none."""
        parts = list(_units(model))
        owners = Counter(id(one) for part in parts for one in part.parameters())
        return [part for part in parts if all(owners[id(one)] == 1 for one in part.parameters())]

    def examples_in(self, batch: Batch) -> int:
        """Examples of a batch on the CPU. Write it only if batches differ in it: it is called with each of them, in the
        phase `data`."""
        raise NotImplementedError

    def tokens_in(self, batch: Batch) -> int:
        """Tokens of a batch on the CPU. Write it only if batches differ in it: it is called with each of them, in the
        phase `data`."""
        raise NotImplementedError

    def validation_batch(self, indices: list[int]) -> Batch:
        """These held-out examples (from 0 to validation_size - 1), on the CPU, the same for every seed.

        The default: `batch` at the places that follow the training examples, from dataset_size on."""
        import torch

        places = torch.tensor(indices) + self.dataset_size
        return self.batch(places, places)

    def evaluate(self, model: nn.Module, batch: Batch) -> tuple[torch.Tensor, torch.Tensor | None]:
        """The loss of each example [B], and its score [B], from 0 to 1 and higher is better, or None. Called without
        gradients.

        The default gives each example its batch's mean loss, and no score."""
        from torch import Tensor

        sizes = [len(part) for part in batch.values() if isinstance(part, Tensor) and part.dim()]
        if not sizes:
            raise TypeError(
                "no tensor of the batch has a first dimension that counts examples: write evaluate"
            )
        return self.loss(model, batch).expand(sizes[0]), None

    def tp_plan(self, model: nn.Module, *, size: int, sequence_parallel: bool) -> dict[str, ParallelStyle]:
        """For the strategies tp and mesh: torch's styles by the names of submodules, as parallelize_module takes them,
        which divide the model's layers among `size` ranks. Raise InputError if the model does not divide."""
        raise NotImplementedError

    @classmethod
    def has_own(cls, method: str) -> bool:
        """Whether the class has a method that this base class only describes."""
        return getattr(cls, method) is not getattr(Workload, method)


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


class MachineWorkload(ABC):
    """A workload that trains nothing and measures the machine instead, under the strategy `process_group`."""

    Options: ClassVar[type[Any]] = NoOptions
    sources: ClassVar[tuple[str, ...]] = ("synthetic",)
    """There are no data."""
    measures_machine: ClassVar[bool] = True
    smallest_world_size: ClassVar[int] = 1
    """Ranks below which there is nothing to measure."""
    precisions: ClassVar[tuple[str, ...]]
    """Values of `train.precision` that it can measure in."""

    def __init__(self, options: Any, source: str, data_root: str | None, seed: int) -> None:  # noqa: ARG002
        self.options = options

    def prepare(self) -> None:  # noqa: B027 - a default, not forgotten
        """Called before a session. Raises InputError if the options are invalid."""

    @abstractmethod
    def measure(self, machine: Machine) -> None:
        """Called on every rank at once: measure and keep rows. An error fails the run."""


@functools.cache
def names() -> tuple[str, ...]:
    """Shipped workloads, in alphabetical order; imports none. Cached, because a plan asks for them many times."""
    return tuple(sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_")))


def load(name: str) -> type[Workload]:
    """The class of a workload: a shipped one's is in the module of its name, for `./mine.py:Net` in that file. Raises
    InputError."""
    if name in names():
        shipped: type[Workload] = importlib.import_module(f"{__name__}.{name}").Workload
        return shipped
    if ":" not in name:
        raise InputError(f"unknown workload {name!r}: there are {', '.join(names())}")
    return custom_file.load_class(name, Workload)  # type: ignore[type-abstract]


def measures_machine(name: str) -> bool:
    """Whether the workload is a MachineWorkload."""
    return load(name).measures_machine


def runs_a_command(name: str) -> bool:
    """Whether the ranks run a command of the user's instead of training a model here."""
    return name == COMMAND


def make(asked: Mapping[str, Any]) -> Workload:
    """The workload of RunSpec.workload_with_data, to be prepared. Raises InputError, and the errors of a custom
    workload."""
    kind = load(asked["workload"])
    return kind(kind.Options(**asked["options"]), asked["source"], asked["data_root"], asked["seed"])


def first_batch(workload: Workload, examples: int) -> Batch:
    """A training batch of that many examples, on the CPU, loaded in this process."""
    import torch

    keys = torch.arange(examples)
    return workload.batch(keys % workload.dataset_size, keys)


def prepared(asked: Mapping[str, Any]) -> Workload | None:
    """The prepared workload of RunSpec.workload_with_data; null if it trains nothing. Raises the errors of a custom
    workload."""
    if measures_machine(asked["workload"]) or runs_a_command(asked["workload"]):
        return None
    workload = make(asked)
    workload.prepare()
    return workload


def load_machine(name: str) -> type[MachineWorkload]:
    """The class of a workload that measures the machine."""
    kind: Any = load(name)
    assert issubclass(kind, MachineWorkload), f"{name} is trained"
    machine: type[MachineWorkload] = kind
    return machine


def trained() -> list[str]:
    """Shipped workloads that are trained here, in alphabetical order; imports all."""
    return [name for name in names() if not (measures_machine(name) or runs_a_command(name))]


def is_custom(name: str) -> bool:
    """Whether the workload is not a shipped one."""
    return name not in names()
