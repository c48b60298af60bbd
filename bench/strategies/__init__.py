"""One file per strategy; the file's name is the strategy's name.

A strategy distributes a model over the ranks. It knows nothing about workloads, timing or storage. Its module must
import without torch: import torch inside methods. A custom class needs only `wrap`; _custom.py has defaults for the
rest.
"""

from __future__ import annotations

import functools
import pkgutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from bench.common.custom_file import raised
from bench.common.custom_part import label
from bench.common.errors import InputError
from bench.records.run_spec import MeasureSpec, TrainSpec
from bench.records.vocabulary import DeviceType

if TYPE_CHECKING:
    import torch
    from torch import nn
    from torch.distributed.tensor.parallel import ParallelStyle

    Batch = dict[str, torch.Tensor]


class Divisible(Protocol):
    """A workload that says how its model is divided; see bench/workloads. It may have only one of these methods."""

    def model(self) -> nn.Module: ...

    def tp_plan(
        self, model: nn.Module, *, size: int, sequence_parallel: bool
    ) -> dict[str, ParallelStyle]: ...

    def stages(self, model: nn.Module, count: int) -> list[nn.Module]: ...

    def experts(self, model: nn.Module) -> list[nn.Module]: ...

    def batch(self, places: torch.Tensor, keys: torch.Tensor) -> Batch: ...

    def cp_batch(self, batch: Batch, *, size: int) -> tuple[Batch, dict[str, int]]: ...


class Strategy(Protocol):
    """The interface that a rank uses."""

    Options: ClassVar[type[Any]]
    """Frozen keyword-only dataclass of the strategy's options, with defaults."""
    max_world_size: ClassVar[int | None]
    """Largest world size; null if there is no limit."""
    # Optional, called before anything starts, without torch; `options` is an Options:
    #   @staticmethod conflicts(options, asked: Asked) -> Iterator[tuple[str, str]]
    #       options that torch cannot combine with the case's other keys: (option, reason and remedy)
    #   @staticmethod misfit(options, world_size: int, device_type: DeviceType) -> str | None
    #       why it cannot distribute a model over that many ranks of that device
    #   @staticmethod too_few(options, world_size: int, micro_batches: int) -> str | None
    #       why a step cannot have that many micro-batches
    #   @staticmethod ranks_per_batch(options, world_size: int) -> int
    #       how many consecutive ranks share a batch, as in tensor parallelism; it must divide the world size
    #   @staticmethod asks_of_workload(options) -> Collection[str]
    #       optional methods of the workload that it calls
    # Optional, called before anything starts, with torch:
    #   @staticmethod lacking() -> str | None
    #       what the installed torch lacks; null if it has everything
    #   @staticmethod suits(options, world_size: int, workload: Divisible, train: TrainSpec) -> None
    #       raises InputError if the model of the prepared workload cannot be distributed so
    # Optional, used by a rank:
    #   @staticmethod needs_cpu_group(options) -> bool
    #       whether ranks on GPUs must also be able to reduce CPU tensors
    #   use(workload: Divisible) -> None: called before `wrap`
    #   makes_steps: whether, after `wrap`, it makes the forward and backward of a step by these methods:
    #   forward_backward(model, loss, batches, ended) -> torch.Tensor
    #       of all micro-batches of a step, by calls of loss(model, batch); ended("forward") and ended("backward") end a
    #       phase. The mean loss, or UNKNOWN_LOSS. The result of `wrap` then has all parameters of this rank, and no
    #       others
    #   evaluate(model, evaluate, batch) -> tuple | None
    #       what the workload's `evaluate` returns; null on a rank that does not know it
    #   unsynchronised(model) -> AbstractContextManager[None]: around the forward and backward of a micro-batch; inside,
    #       nothing is sent to other ranks, whose models diverge from then on
    #   scale_messages(model, factor: Callable[[], float]) -> None
    #       from now on each message has factor() times its bytes; what is received need not be right below 1. In
    #       `conflicts`, the strategy refuses what `measure.wire` asks and it cannot do
    #   compiles_blocks = True if train.compile compiles each block by itself, and nothing around them
    #   sharded_scaler = True if fp16's loss scaler must ask the other ranks for overflows
    #   hides_model = True if the result of `wrap` may only be called: the model's own attributes are behind `.module`

    def __init__(self, options: Any) -> None: ...

    def wrap(
        self, model: nn.Module, blocks: list[nn.Module], *, device: torch.device, precision: str
    ) -> nn.Module:
        """Distribute the model over the default process group; also at one rank, for an equal baseline."""

    def accumulating(self, model: nn.Module, last: bool) -> AbstractContextManager[None]:
        """Context for forward and backward of one micro-batch; synchronises gradients only if `last`."""

    def clip(self, model: nn.Module, max_norm: float) -> None:
        """Clip the norm of the whole model's gradient, not only of this rank's part."""

    def validated(self, model: nn.Module) -> None:
        """Call it after forward passes without backward: restore the model's distribution for the next step."""


@functools.cache
def names() -> tuple[str, ...]:
    """Strategies that ship, in alphabetical order; imports none. Cached, because a plan asks for them many times."""
    return tuple(sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_")))


def known() -> list[str]:
    """Strategies that ship, then those of installed packages; imports none."""
    from bench.strategies._custom import STRATEGY

    return STRATEGY.known(names())


def is_custom(name: str) -> bool:
    """Whether the strategy is not a shipped one."""
    return name not in names()


def load(name: str) -> type[Strategy]:
    """The class of a strategy: see CustomPart.load. Raises InputError."""
    from bench.strategies._custom import STRATEGY

    return STRATEGY.load(name, names())


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The case's settings that a strategy may conflict with."""

    train: TrainSpec
    measure: MeasureSpec


def conflicts(name: str, options: dict[str, Any], asked: Asked) -> list[tuple[str, str]]:
    """Options of the strategy that torch cannot combine with the rest of the case, each with the reason."""
    kind = load(name)
    found = _answer(
        name,
        "conflicts",
        lambda own: [(str(key), str(why)) for key, why in own(kind.Options(**options), asked)],
    )
    return found or []


def misfit(name: str, options: dict[str, Any], world_size: int, device_type: DeviceType) -> str | None:
    """Why the strategy cannot distribute a model over that many ranks of that device; null if it can."""
    kind = load(name)
    reason = _answer(name, "misfit", lambda own: own(kind.Options(**options), world_size, device_type))
    if reason is not None:
        return str(reason)
    group = ranks_per_batch(name, options, world_size)
    if world_size % group:
        ranks = f"{world_size} ranks do" if world_size > 1 else "1 rank does"
        return (
            f"{ranks} not divide into groups of {group} that share a batch "
            f"(ranks_per_batch of {label(name)}): {world_size} / {group} = {world_size / group:g}"
        )
    return None


def too_few(name: str, options: dict[str, Any], world_size: int, micro_batches: int) -> str | None:
    """Why a step of the strategy cannot have that many micro-batches; null if it can."""
    kind = load(name)
    reason = _answer(name, "too_few", lambda own: own(kind.Options(**options), world_size, micro_batches))
    return None if reason is None else str(reason)


def asks_of_workload(name: str, options: dict[str, Any]) -> list[str]:
    """Optional methods of the workload that the strategy calls."""
    kind = load(name)
    return list(_answer(name, "asks_of_workload", lambda own: own(kind.Options(**options))) or ())


def ranks_per_batch(name: str, options: dict[str, Any], world_size: int) -> int:
    """How many consecutive ranks share a batch; 1 if every rank has its own."""
    kind = load(name)
    ranks = _answer(name, "ranks_per_batch", lambda own: own(kind.Options(**options), world_size))
    if ranks is None:
        return 1
    if not isinstance(ranks, int) or isinstance(ranks, bool) or ranks < 1:
        raise InputError(
            f"ranks_per_batch() of {label(name)} returned {ranks!r}: give a whole number, 1 or more"
        )
    return ranks


def _answer(name: str, method: str, ask: Callable[[Any], Any]) -> Any:
    """The answer of a method of the class, as `ask` reads it; null without the method. Raises InputError if a custom
    one raises."""
    own = getattr(load(name), method, None)
    if own is None:
        return None
    try:
        return ask(own)
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        if not is_custom(name):
            raise
        raise InputError(f"{method}() of {label(name)} raised {raised(error)}") from error


def suits(name: str, options: dict[str, Any], world_size: int, workload: Divisible, train: TrainSpec) -> None:
    """Raises InputError if the model of the prepared workload cannot be distributed so. Loads torch."""
    kind = load(name)
    _answer(name, "suits", lambda own: own(kind.Options(**options), world_size, workload, train))


def lays_models(name: str) -> bool:
    """Whether it can train; process_group cannot."""
    return hasattr(load(name), "wrap")


def scales_messages(name: str) -> bool:
    """Whether it can send messages of other sizes than the training's, for `measure.wire`."""
    return hasattr(load(name), "scale_messages")


def hides_model(name: str) -> bool:
    """Whether the result of `wrap` may only be called, as under DistributedDataParallel."""
    return bool(getattr(load(name), "hides_model", False))


def needs_cpu_group(name: str, options: dict[str, Any]) -> bool:
    """Whether ranks on GPUs must also be able to reduce tensors in host memory."""
    kind = load(name)
    return bool(_answer(name, "needs_cpu_group", lambda own: own(kind.Options(**options))))


def lacking(name: str) -> str | None:
    """Why the installed torch is not enough for the strategy; null if it is. Loads torch."""
    reason = _answer(name, "lacking", lambda own: own())
    return None if reason is None else str(reason)
