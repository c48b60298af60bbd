"""One file per workload; the file's name is the workload's name.

A workload says what is trained: its options, its model, its examples, its loss. It knows nothing of strategies,
world sizes or timing. Its module must import without torch, because suites are checked where torch is never
loaded: import torch inside methods, and keep nn.Modules in bench/models/.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from bench.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch
    from torch import nn

    from bench.measure.machine import Machine

    Batch = dict[str, torch.Tensor]


class Workload(Protocol):
    """What a rank asks of a workload. `Workload(options, source, data_root, seed)` must be cheap;
    reading data belongs to `prepare`. A user's own class needs `model`, `batch`, `loss` only: _own.py has the rest."""

    Options: ClassVar[type[Any]]
    """Frozen keyword-only dataclass of the workload's parameters, with defaults."""
    sources: ClassVar[tuple[str, ...]]
    """Values of `data.source` that it understands; `synthetic` where it has generated data."""
    # Optional: `couples_examples = True` where an example's loss hangs on the others of its batch, as a contrastive
    # loss does. BatchNorm is found without it. No verdict is then given on whether world sizes train alike.
    # Optional: `batch_norm = True` where the model has BatchNorm: fsdp with parameters in half precision, which
    # BatchNorm does not take, is then refused when the suite is read.
    # `largest_validation_batch`: examples of a rank in one forward pass of validation, where 256 are too many.

    def __init__(self, options: Any, source: str, data_root: str | None, seed: int) -> None: ...

    def prepare(self) -> None:
        """Read or generate the examples; raises InputError naming the file that was expected where."""

    @property
    def dataset_size(self) -> int:
        """Training examples in one epoch."""

    @property
    def tokens_per_example(self) -> int | None:
        """For text; null elsewhere."""

    def model(self) -> nn.Module:
        """A fresh model, initialised from torch's current default generator."""

    def blocks(self, model: nn.Module) -> list[nn.Module]:
        """Submodules that are sharded or recomputed as one unit, outermost excluded."""

    def batch(self, places: torch.Tensor, keys: torch.Tensor) -> Batch:
        """CPU tensors of the examples at `places` of the data set (int64 [B]). `keys` (int64 [B]) are the examples'
        global positions in the whole training stream: all randomness of an example hangs on (seed, key)."""

    def loss(self, model: nn.Module, batch: Batch) -> torch.Tensor:
        """Scalar mean loss of a batch on the model's device."""

    @property
    def validation_size(self) -> int:
        """Examples to validate on; 0 where there are none."""

    def validation_batch(self, indices: list[int]) -> Batch: ...

    def evaluate(self, model: nn.Module, batch: Batch) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Per-example loss [B], and per-example correctness [B] (0 or 1) or None. Called without gradients."""


class MachineWorkload(Protocol):
    """A workload that trains nothing and measures the machine instead, under the strategy `process_group`."""

    Options: ClassVar[type[Any]]
    sources: ClassVar[tuple[str, ...]]
    """(`synthetic`,): there are no data."""
    measures_machine: ClassVar[bool]
    """True; what has it not is a Workload."""
    smallest_world_size: ClassVar[int]
    """Ranks below which there is nothing to measure."""
    precisions: ClassVar[tuple[str, ...]]
    """Values of `train.precision` that it can measure in."""

    def __init__(self, options: Any, source: str, data_root: str | None, seed: int) -> None: ...

    def prepare(self) -> None:
        """Before a session: raises InputError where the options make no sense."""

    def measure(self, machine: Machine) -> None:
        """On every rank at once: measure, and keep rows. What it raises fails the run."""


def names() -> list[str]:
    """Workloads that ship, in alphabetical order; imports none."""
    return sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))


def known() -> list[str]:
    """Those that ship, then those of installed packages; imports none."""
    from bench.workloads import _installed

    return list(dict.fromkeys([*names(), *_installed.entries()]))


def load(name: str) -> type[Workload]:
    """The class `Workload` of bench/workloads/NAME.py; else that of an installed package's entry point NAME; or the
    class of your own file for `./my_model.py:MyWorkload`. A shipped name hides a package's of the same name."""
    if ":" in name:
        from bench.workloads._own import load_file

        return load_file(name)
    if name in names():
        workload: type[Workload] = importlib.import_module(f"{__name__}.{name}").Workload
        return workload
    from bench.workloads import _installed

    entries = _installed.entries()
    if name not in entries:
        raise InputError(f"unknown workload {name!r}: there are {', '.join([*names(), *entries])}")
    return _installed.load(name, entries[name])


def measures_machine(name: str) -> bool:
    """Whether it is a MachineWorkload."""
    return bool(getattr(load(name), "measures_machine", False))


def prepared(asked: Mapping[str, Any]) -> Workload | None:
    """One with its data read, of `workload`, `options`, `source`, `data_root` and `seed`; null where it trains nothing.
    Raises what an own workload raises."""
    kind = load(asked["workload"])
    if getattr(kind, "measures_machine", False):
        return None
    workload = kind(kind.Options(**asked["options"]), asked["source"], asked["data_root"], asked["seed"])
    workload.prepare()
    return workload


def load_machine(name: str) -> type[MachineWorkload]:
    """The class of a workload that measures the machine."""
    kind: Any = load(name)
    assert measures_machine(name), f"{name} is trained"
    machine: type[MachineWorkload] = kind
    return machine


def trained() -> list[str]:
    """Those that ship and are trained, in alphabetical order; imports all."""
    return [name for name in names() if not measures_machine(name)]


def is_own(name: str) -> bool:
    """Whether it is not among those that ship."""
    return name not in names()


def label(name: str) -> str:
    """As messages call it: an own file's without its folder."""
    return name.rpartition("/")[2] if ":" in name else name
