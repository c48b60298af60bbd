"""One file per workload; the file's name is the workload's name.

A workload says what is trained: its options, its model, its examples, its loss. It knows nothing of strategies,
world sizes or timing. Its module must import without torch, because suites are checked where torch is never
loaded: import torch inside methods, and keep nn.Modules in bench/models/.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from bench.errors import InputError

if TYPE_CHECKING:
    import torch
    from torch import nn

    Batch = dict[str, torch.Tensor]


class Workload(Protocol):
    """What a rank asks of a workload. `Workload(options, source, data_root, seed)` must be cheap;
    reading data belongs to `prepare`."""

    Options: ClassVar[type[Any]]
    """Frozen keyword-only dataclass of the workload's parameters, with defaults."""
    sources: ClassVar[tuple[str, ...]]
    """Values of `data.source` that it understands; `synthetic` where it has generated data."""
    # Optional: `couples_examples = True` where an example's loss hangs on the others of its batch, as a contrastive
    # loss does. BatchNorm is found without it. No verdict is then given on whether world sizes train alike.

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


_PARTS = (
    "Options", "sources", "prepare", "dataset_size", "tokens_per_example", "model", "blocks", "batch", "loss",
    "validation_size",
)  # fmt: skip


def names() -> list[str]:
    """Workloads that ship, in alphabetical order; imports none."""
    return sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))


def load(name: str) -> type[Workload]:
    """The class `Workload` of bench/workloads/NAME.py, or the class of your own file for `./my_model.py:MyWorkload`."""
    if ":" in name:
        return _load_file(name)
    if name not in names():
        raise InputError(f"unknown workload {name!r}: there are {', '.join(names())}")
    module = importlib.import_module(f"{__name__}.{name}")
    workload: type[Workload] = module.Workload
    return workload


def _load_file(name: str) -> type[Workload]:
    file, _, class_name = name.rpartition(":")
    path = Path(file)
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    specification = importlib.util.spec_from_file_location(f"bench_workload_{path.stem}", path)
    if specification is None or specification.loader is None:
        raise InputError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module  # dataclasses look their module up there
    try:
        specification.loader.exec_module(module)
    except Exception as error:  # whatever a user's file raises is the user's to mend
        raise InputError(f"{path} cannot be imported: {type(error).__name__}: {error}") from error
    if not hasattr(module, class_name):
        raise InputError(f"{path} has no class {class_name}")
    workload: type[Workload] = getattr(module, class_name)
    missing = [part for part in _PARTS if not hasattr(workload, part)]
    if missing:
        raise InputError(
            f"class {class_name} of {path.name} lacks {', '.join(missing)}: each is an attribute, a property "
            "or a method of the class, which is asked before its __init__ runs"
        )
    return workload
