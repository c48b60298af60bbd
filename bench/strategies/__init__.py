"""The base class of strategies, and the shipped ones: one file each, whose name is the strategy's name.

A strategy distributes a model over the ranks. It knows nothing about workloads, timing or storage. A shipped one's
module must import without torch: import torch inside methods.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol

from annotated_types import Ge

from bench.common import custom_file
from bench.common.custom_file import NoOptions, OptionsClass, label
from bench.common.declared import check_answer
from bench.common.errors import InputError
from bench.records.run_spec import MeasureSpec, TrainSpec
from bench.records.vocabulary import DeviceType

if TYPE_CHECKING:
    import torch
    from torch import nn
    from torch.distributed.tensor.parallel import ParallelStyle

_Ranks = Annotated[int, Ge(1)]


class Divisible(Protocol):
    """A workload that says how its model is divided; see bench/workloads."""

    def model(self) -> nn.Module: ...

    def tp_plan(
        self, model: nn.Module, *, size: int, sequence_parallel: bool
    ) -> dict[str, ParallelStyle]: ...


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The case's settings that a strategy may conflict with."""

    train: TrainSpec
    measure: MeasureSpec


class Strategy(ABC):
    """How a model is distributed over the ranks. A subclass writes `wrap`; all else has a default.

    The static methods are called before anything starts, and without torch unless they import it; `options` is an
    instance of Options."""

    Options: ClassVar[OptionsClass] = NoOptions
    """A frozen, keyword-only dataclass of the options that a suite may set next to `name`, with types and defaults."""
    max_world_size: ClassVar[_Ranks | None] = None
    """Largest world size; null: no limit."""
    trains: ClassVar[bool] = True
    """False only if there is no model to distribute."""
    compiles_blocks: ClassVar[bool] = False
    """Whether train.compile compiles each block by itself, and nothing around them."""
    sharded_scaler: ClassVar[bool] = False
    """Whether fp16's loss scaler must ask the other ranks for overflows."""

    @staticmethod
    def conflicts(options: Any, asked: Asked) -> Iterable[tuple[str, str]]:  # noqa: ARG004
        """Options that torch cannot combine with the case's other keys: each with the reason and the remedy."""
        return ()

    @staticmethod
    def misfit(options: Any, world_size: int, device_type: DeviceType) -> str | None:  # noqa: ARG004
        """Why it cannot distribute a model over that many ranks of that device; null if it can. A size from `auto` is
        then skipped, any other is refused."""
        return None

    @staticmethod
    def ranks_per_batch(options: Any, world_size: int) -> _Ranks:  # noqa: ARG004
        """How many consecutive ranks share a batch, as in tensor parallelism. It must divide the world size."""
        return 1

    @staticmethod
    def needs_tp_plan(options: Any) -> bool:  # noqa: ARG004
        """Whether it calls `tp_plan` of the workload, which has no default."""
        return False

    @staticmethod
    def lacking(options: Any, device_type: DeviceType, *, wire: bool) -> str | None:  # noqa: ARG004
        """Why the installed torch cannot run it on that device, and the version that can; null if it can. Such a run is
        skipped. `wire`: whether it scales messages. May import torch."""
        return None

    @staticmethod  # noqa: B027 - a default, not forgotten
    def suits(options: Any, world_size: int, workload: Divisible, train: TrainSpec) -> None:
        """Called only if it needs `tp_plan`. Raise InputError if the model of the prepared workload cannot be divided
        so. May import torch."""

    @staticmethod
    def needs_cpu_group(options: Any) -> bool:  # noqa: ARG004
        """Whether ranks on GPUs must also be able to reduce CPU tensors."""
        return False

    def __init__(self, options: Any) -> None:
        self.options = options

    def use(self, workload: Divisible) -> None:  # noqa: B027 - a default, not forgotten
        """The prepared workload whose model is distributed; called before `wrap`."""

    @abstractmethod
    def wrap(
        self, model: nn.Module, blocks: list[nn.Module], *, device: torch.device, precision: str
    ) -> nn.Module:
        """Move the model to the device, distribute it over the default process group and return it, with its own
        parameters; also at one rank, for an equal baseline. `blocks` are the workload's; `precision` is
        train.precision."""

    def accumulating(self, model: nn.Module, last: bool) -> AbstractContextManager[None]:
        """The context of forward and backward of one micro-batch; gradients must be synchronised after the `last` one.

        The default synchronises after the last one alone if the model can: `no_sync`, as DDP has it, or
        `fully_shard`."""
        if hasattr(model, "set_requires_gradient_sync"):
            from bench.strategies import _fully_sharded

            _fully_sharded.synchronise(model, last)
        elif not last and hasattr(model, "no_sync"):
            alone: AbstractContextManager[None] = model.no_sync()  # type: ignore[operator]
            return alone
        return nullcontext()

    def clip(self, model: nn.Module, max_norm: float) -> None:
        """Clip the norm of the whole model's gradient, if the suite sets train.clip_norm.

        The default: the norm of all gradients that the rank has; DTensors count with their parts on other ranks."""
        from bench.strategies import _clip

        _clip.clip(model, max_norm)

    def validated(self, model: nn.Module) -> None:
        """Called after forward passes without backward: restore the model's distribution for the next step.

        The default shards again what `fully_shard` has gathered."""
        from bench.strategies import _fully_sharded

        _fully_sharded.reshard(model)

    def unsynchronised(self, model: nn.Module) -> AbstractContextManager[None]:
        """The context of forward and backward of a micro-batch in which nothing is sent to other ranks, whose models
        diverge from then on. Write it to have such steps with measure.profiled."""
        raise NotImplementedError

    def scale_messages(self, model: nn.Module, factor: Callable[[], float]) -> None:
        """From now on each message has factor() times its bytes; what is received need not be right below 1. Write it
        for `measure.wire`, and refuse in `conflicts` what it cannot do."""
        raise NotImplementedError

    @classmethod
    def has_own(cls, method: str) -> bool:
        """Whether the class has a method that this base class only describes."""
        return getattr(cls, method) is not getattr(Strategy, method)


@functools.cache
def names() -> tuple[str, ...]:
    """Strategies that ship, in alphabetical order; imports none. Cached, because a plan asks for them many times."""
    return tuple(sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_")))


def is_custom(name: str) -> bool:
    """Whether the strategy is not a shipped one."""
    return name not in names()


def load(name: str) -> type[Strategy]:
    """The class of a strategy: a shipped one's is in the module of its name, for `./mine.py:Mine` in that file. Raises
    InputError."""
    if name in names():
        shipped: type[Strategy] = importlib.import_module(f"{__name__}.{name}").Strategy
        return shipped
    if ":" not in name:
        raise InputError(f"unknown strategy {name!r}: there are {', '.join(names())}")
    return custom_file.load_class(name, Strategy)  # type: ignore[type-abstract]


def conflicts(name: str, options: dict[str, Any], asked: Asked) -> list[tuple[str, str]]:
    """Options of the strategy that torch cannot combine with the rest of the case, each with the reason."""
    return [(key, why) for key, why in _answer(name, options, "conflicts", asked)]


def misfit(name: str, options: dict[str, Any], world_size: int, device_type: DeviceType) -> str | None:
    """Why the strategy cannot distribute a model over that many ranks of that device; null if it can."""
    reason: str | None = _answer(name, options, "misfit", world_size, device_type)
    if reason is not None:
        return reason
    group = ranks_per_batch(name, options, world_size)
    if world_size % group:
        ranks = f"{world_size} ranks do" if world_size > 1 else "1 rank does"
        return (
            f"{ranks} not divide into groups of {group} that share a batch "
            f"(ranks_per_batch of {label(name)}): {world_size} / {group} = {world_size / group:g}"
        )
    return None


def needs_tp_plan(name: str, options: dict[str, Any]) -> bool:
    """Whether the strategy calls `tp_plan` of the workload."""
    needs: bool = _answer(name, options, "needs_tp_plan")
    return needs


def ranks_per_batch(name: str, options: dict[str, Any], world_size: int) -> int:
    """How many consecutive ranks share a batch; 1 if every rank has its own."""
    ranks: int = _answer(name, options, "ranks_per_batch", world_size)
    return ranks


def suits(name: str, options: dict[str, Any], world_size: int, workload: Divisible, train: TrainSpec) -> None:
    """Raises InputError if the model of the prepared workload cannot be distributed so. Loads torch."""
    _answer(name, options, "suits", world_size, workload, train)


def lacking(name: str, options: dict[str, Any], device_type: DeviceType, *, wire: bool) -> str | None:
    """Why the installed torch cannot run it on that device; null if it can. Loads torch."""
    reason: str | None = _answer(name, options, "lacking", device_type, wire=wire)
    return reason


def needs_cpu_group(name: str, options: dict[str, Any]) -> bool:
    """Whether ranks on GPUs must also be able to reduce tensors in host memory."""
    needs: bool = _answer(name, options, "needs_cpu_group")
    return needs


def _answer(name: str, options: dict[str, Any], method: str, *arguments: Any, **keywords: Any) -> Any:
    """The answer of a method of the class. Raises InputError if a custom one raises, or returns another type than the
    base class declares."""
    kind = load(name)
    try:
        answer = getattr(kind, method)(kind.Options(**options), *arguments, **keywords)
        if isinstance(answer, Iterator):
            answer = list(answer)
    except InputError:
        raise
    except (Exception, SystemExit) as error:  # a user's method may raise anything
        if not is_custom(name):
            raise
        raise InputError(custom_file.said(error)) from error
    check_answer(answer, getattr(Strategy, method), label(name))
    return answer
