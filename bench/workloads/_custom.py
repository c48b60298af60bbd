"""Makes a complete workload from a custom class: three methods are required, everything else has a default here.

No method is wrapped: the result is a class with the custom class and the defaults as bases, so a step takes as long as
the custom code itself.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import inspect
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

from bench.common.errors import InputError

if TYPE_CHECKING:
    import torch
    from torch import nn

    from bench.workloads import Batch, Workload

REQUIRED = ("model", "batch", "loss")
CALLED_WITH = {
    "__init__": ("options", "source", "data_root", "seed"),
    "prepare": (),
    "model": (),
    "blocks": ("model",),
    "batch": ("places", "keys"),
    "loss": ("model", "batch"),
    "validation_batch": ("indices",),
    "evaluate": ("model", "batch"),
}
"""Every method with its positional arguments."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class NoOptions:
    """No options."""


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
        """The model's direct children that have parameters, and each member of a ModuleList; but not children that
        share parameters, which cannot be sharded separately. A model of a single layer has none."""
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
        examples = len(next(iter(batch.values())))
        return self.loss(model, batch).expand(examples), None  # type: ignore[attr-defined] # the user's


def _units(module: nn.Module) -> Iterator[nn.Module]:
    """Children that are called as modules. Containers have no forward of their own, so their members count."""
    from torch.nn import ModuleDict, ModuleList, ParameterDict, ParameterList

    for child in module.children():
        if isinstance(child, ModuleList | ModuleDict):
            yield from _units(child)
        elif (
            not isinstance(child, ParameterList | ParameterDict)
            and next(child.parameters(), None) is not None
        ):
            yield child


def load_file(name: str) -> type[Workload]:
    """The class at `FILE.py:CLASS`, as a workload. Raises InputError if there is none or it cannot be a workload."""
    file, _, class_name = name.rpartition(":")
    path = Path(file)
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    file_is = path.stat()
    module = _module(path, path.resolve(), file_is.st_mtime_ns, file_is.st_size)
    sys.modules[module.__name__] = module  # another file of the same name may have replaced it
    if not hasattr(module, class_name):
        raise InputError(f"{path} has no class {class_name}")
    return complete(getattr(module, class_name), f"{path.name}:{class_name}")


@functools.cache
def _module(path: Path, _resolved: Path, _mtime_ns: int, _size: int) -> ModuleType:
    """The executed file. Cached until the file changes, because a suite asks for it several times per case."""
    specification = importlib.util.spec_from_file_location(f"bench_workload_{path.stem}", path)
    if specification is None or specification.loader is None:
        raise InputError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module  # dataclasses look up their module there
    try:
        specification.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # a custom file may raise anything
        raise InputError(f"{path} cannot be imported: {raised(error)}") from error
    return module


def raised(error: BaseException) -> str:
    """`SystemExit: bye`, or `SystemExit` without a message."""
    return f"{type(error).__name__}: {error}".removesuffix(": ")


def complete(kind: Any, label: str) -> type[Workload]:
    """The class, with defaults for everything that it leaves out. Raises InputError if a part is missing or wrong."""
    try:
        if not inspect.isclass(kind):
            raise InputError(
                f"{label} is {kind!r}: a workload is a class with the methods {', '.join(REQUIRED)}"
            )
        missing = [method for method in REQUIRED if not hasattr(kind, method)]
        if missing:
            methods = ", ".join(f"{method}({', '.join(CALLED_WITH[method])})" for method in missing)
            raise InputError(f"class {label} lacks {methods}: every workload needs {', '.join(REQUIRED)}")
        for method, arguments in CALLED_WITH.items():
            _check_signature(kind, label, method, arguments)
        whole: type[Workload] = type(kind.__name__, (kind, Defaults), {"__module__": kind.__module__})
        _check_attributes(whole, label)
        return whole
    except InputError:
        raise
    except (Exception, SystemExit) as error:  # a custom metaclass may raise anything
        raise InputError(f"class {label} cannot be made a workload: {raised(error)}") from error


def _check_signature(kind: Any, label: str, method: str, arguments: tuple[str, ...]) -> None:
    own = inspect.getattr_static(kind, method, None)
    if own is None or own is getattr(object, method, None):
        return
    function = getattr(kind, method)
    if not callable(function):
        raise InputError(f"{method} of {label} is {own!r}: it must be a method")
    given = (None, *arguments) if inspect.isfunction(own) else arguments  # the first is self
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a builtin does not say
        return
    try:
        signature.bind(*given)
    except TypeError as error:
        wanted = ", ".join(("self", *arguments) if inspect.isfunction(own) else arguments)
        raise InputError(f"{method}{signature} of {label}: {error}: write {method}({wanted})") from None


def _check_attributes(whole: Any, label: str) -> None:
    if not dataclasses.is_dataclass(whole.Options):
        raise InputError(
            f"Options of {label} is {whole.Options!r}: it must be a dataclass: @dataclass(frozen=True, kw_only=True)"
        )
    sources = whole.sources
    named = isinstance(sources, tuple | list) and all(isinstance(source, str) for source in sources)
    if not named or not sources:
        raise InputError(
            f'sources of {label} is {sources!r}: give a class attribute with a tuple of names, as in ("synthetic",)'
        )
