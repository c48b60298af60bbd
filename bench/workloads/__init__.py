"""One file per workload; the file's name is the workload's name.

A workload defines its options, model, examples and loss. It knows nothing about strategies, world sizes or timing. Its
module must import without torch, because checking a suite never loads torch: import torch inside methods, and keep
models of more than a few layers in bench/models/.
"""

from __future__ import annotations

import functools
import pkgutil
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from bench.records.vocabulary import SCRIPT

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch
    from torch import nn

    from bench.data.stream import Stream
    from bench.measure.machine.speed import Machine

    Batch = dict[str, torch.Tensor]
    """Tensors; in a custom workload also other objects that `to(device, non_blocking=True)` moves, such as graphs."""


_STREAM = "_scalebench_stream"
"""The attribute of a workload that holds its stream."""


class Workload(Protocol):
    """The interface that a rank uses. `Workload(options, source, data_root, seed)` must be cheap; read data in
    `prepare`. A custom class needs only `model`, `batch` and `loss`; _custom.py has defaults for the rest."""

    Options: ClassVar[type[Any]]
    """Frozen keyword-only dataclass of the workload's parameters, with defaults."""
    sources: ClassVar[tuple[str, ...]]
    """Values of `data.source` that it accepts; `synthetic` stands for generated data."""
    # Optional: `metric = "Dice"`, a class attribute, if the score of `evaluate` is not an accuracy.
    # Optional: `couples_examples = True` if an example's loss depends on the others of its batch, as a contrastive loss
    # does. Then there is no verdict on whether world sizes train alike. BatchNorm is detected without it.
    # Optional: `batch_norm = True` if the model has BatchNorm. A suite that combines it with fsdp and parameters in
    # half precision, which BatchNorm does not accept, is then refused.
    # Optional: `step(model, batch, step) -> torch.Tensor`, for a step of several losses or models or with its own
    # backward; `step` is a CustomStep (bench/train/custom_step.py). It takes the place of `loss` and returns the loss
    # to record. Each member of an nn.ModuleDict is distributed by itself and has an optimizer of its own.
    # Optional: `examples_in(batch) -> int` and `tokens_in(batch) -> int`, for batches that differ in them, as with
    # sequences of unequal length; called with each batch on the CPU, in the phase data.
    # Optional: `tp_plan(model, *, size, sequence_parallel) -> dict[str, ParallelStyle]`: how torch's parallelize_module
    # divides the model's layers among `size` ranks; `stages(model, count) -> list[nn.Module]`: the model as `count`
    # stages of a pipeline, which share its parameters. A stage is called with the output of the stage before it, null
    # for the first, and then with what the model is called with; `experts(model) -> list[nn.Module]`: modules whose
    # parameters count experts in their first dimension, and which send tokens over the process group that is set as
    # their `group`; `count` is their number; `cp_batch(batch, *, size) -> tuple[Batch, dict[str, int]]`: the batch as
    # tensors that divide along the sequences among `size` ranks, and the dimension of each that does. `loss` and
    # `evaluate` are called with the parts. All raise InputError if the model does not divide.
    # Optional: `largest_validation_batch`: examples of a rank in one forward pass of validation, if 256 are too many.

    def __init__(self, options: Any, source: str, data_root: str | None, seed: int) -> None: ...

    def prepare(self) -> None:
        """Read or generate the examples. Raises InputError with the path of a missing file."""

    @property
    def dataset_size(self) -> int:
        """Training examples in one epoch."""

    @property
    def tokens_per_example(self) -> int | None:
        """Tokens of an example, for text; otherwise null."""

    def model(self) -> nn.Module:
        """A fresh model, initialised from torch's current default generator."""

    def blocks(self, model: nn.Module) -> list[nn.Module]:
        """Submodules that are sharded or recomputed as one unit, outermost excluded."""

    def batch(self, places: torch.Tensor, keys: torch.Tensor) -> Batch:
        """The examples, on the CPU, at `places` of the data set (int64 [B]). `keys` (int64 [B]) are the examples'
        global positions in the whole training stream: all randomness of an example depends on (seed, key) only."""

    def loss(self, model: nn.Module, batch: Batch) -> torch.Tensor:
        """Scalar mean loss of a batch on the model's device."""

    @property
    def validation_size(self) -> int:
        """Number of examples to validate on; 0 if there are none."""

    def validation_batch(self, indices: list[int]) -> Batch:
        """CPU tensors of these validation examples, the same for every seed."""

    def evaluate(self, model: nn.Module, batch: Batch) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Per-example loss [B], and per-example correctness [B] (0 or 1) or None. Called without gradients."""


class MachineWorkload(Protocol):
    """A workload that trains nothing and measures the machine instead, under the strategy `process_group`."""

    Options: ClassVar[type[Any]]
    sources: ClassVar[tuple[str, ...]]
    """(`synthetic`,): there are no data."""
    measures_machine: ClassVar[bool]
    """True; a class without this attribute is a Workload."""
    smallest_world_size: ClassVar[int]
    """Ranks below which there is nothing to measure."""
    precisions: ClassVar[tuple[str, ...]]
    """Values of `train.precision` that it can measure in."""

    def __init__(self, options: Any, source: str, data_root: str | None, seed: int) -> None: ...

    def prepare(self) -> None:
        """Called before a session. Raises InputError if the options are invalid."""

    def measure(self, machine: Machine) -> None:
        """Called on every rank at once: measure and keep rows. An error fails the run."""


@functools.cache
def names() -> tuple[str, ...]:
    """Shipped workloads, in alphabetical order; imports none. Cached, because a plan asks for them many times."""
    return tuple(sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_")))


def known() -> list[str]:
    """Shipped workloads, then those of installed packages; imports none."""
    from bench.workloads._custom import WORKLOAD

    return WORKLOAD.known(names())


def load(name: str) -> type[Workload]:
    """The class of a workload: see CustomPart.load. Raises InputError."""
    from bench.workloads._custom import WORKLOAD

    return WORKLOAD.load(name, names())


def measures_machine(name: str) -> bool:
    """Whether the workload is a MachineWorkload."""
    return bool(getattr(load(name), "measures_machine", False))


def runs_a_script(name: str) -> bool:
    """Whether the ranks run a command of the user's instead of training a model here."""
    return name == SCRIPT


def make(asked: Mapping[str, Any]) -> Workload:
    """The workload of RunSpec.workload_with_data, to be prepared. A shipped one is made for its first source if a
    stream takes the place of its examples. Raises InputError, and the errors of a custom workload."""
    kind, name, source = load(asked["workload"]), asked["workload"], asked["source"]
    own = kind.sources[0] if is_stream(name, source) and not is_custom(name) else source
    options = kind.Options(**asked["options"])
    workload = kind(options, own, asked["data_root"], asked["seed"])
    if is_stream(name, source):
        from bench.data.stream import Stream

        stream = Stream(
            source,
            asked["source_options"],
            data_root=asked["data_root"],
            seed=asked["seed"],
            options=options,
            sizes_vary=hasattr(kind, "examples_in"),
        )
        setattr(workload, _STREAM, stream)
    return workload


def is_stream(name: str, source: str) -> bool:
    """Whether `data.source` is the user's own loader: one that the workload itself does not read."""
    return source not in load(name).sources


def stream_of(workload: Workload) -> Stream | None:
    """The stream that takes the place of the workload's examples; null without one."""
    return getattr(workload, _STREAM, None)


def epoch_size(workload: Workload) -> int | None:
    """Examples in an epoch; null for a stream, whose length is not known."""
    return workload.dataset_size if stream_of(workload) is None else None


def first_batch(workload: Workload, examples: int) -> Batch:
    """A training batch of that many examples, on the CPU, loaded in this process."""
    import torch

    stream = stream_of(workload)
    if stream is not None:
        return stream.first(examples)
    keys = torch.arange(examples)
    return workload.batch(keys % workload.dataset_size, keys)


def validation_size(workload: Workload) -> int:
    """Number of examples to validate on. With a stream only a custom workload has any: those of a shipped one would not
    be of the stream."""
    from bench.workloads._custom import Defaults

    if stream_of(workload) is not None and not isinstance(workload, Defaults):
        return 0
    return workload.validation_size


def prepared(asked: Mapping[str, Any]) -> Workload | None:
    """The prepared workload of RunSpec.workload_with_data; null if it trains nothing. Raises the errors of a custom
    workload."""
    if measures_machine(asked["workload"]) or runs_a_script(asked["workload"]):
        return None
    workload = make(asked)
    workload.prepare()
    return workload


def makes_steps(workload: Any) -> bool:
    """Whether a workload, or its class, makes its own optimizer steps, with a method `step`."""
    kind = workload if isinstance(workload, type) else type(workload)
    return callable(getattr(kind, "step", None))


def load_machine(name: str) -> type[MachineWorkload]:
    """The class of a workload that measures the machine."""
    kind: Any = load(name)
    assert measures_machine(name), f"{name} is trained"
    machine: type[MachineWorkload] = kind
    return machine


def trained() -> list[str]:
    """Shipped workloads that are trained here, in alphabetical order; imports all."""
    return [name for name in names() if not (measures_machine(name) or runs_a_script(name))]


def is_custom(name: str) -> bool:
    """Whether the workload is not a shipped one."""
    return name not in names()
