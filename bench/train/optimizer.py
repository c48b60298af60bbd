"""Optimizers and learning-rate schedules: scalebench's, torch's by name, or a user's function; and the moving average
of the parameters (`train.ema_decay`)."""

from __future__ import annotations

import math
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.distributed.tensor import DTensor
from torch.optim import lr_scheduler
from torch.optim.lr_scheduler import LambdaLR, LRScheduler, ReduceLROnPlateau

from bench.common.custom_function import OPTIMIZER, SCHEDULE, Found
from bench.common.error_text import describe, line_in
from bench.common.errors import InputError
from bench.common.nearest import did_you_mean
from bench.records.run_spec import TrainSpec
from bench.records.vocabulary import LARGEST_COUNT
from bench.train.run_length import RunLength

if TYPE_CHECKING:
    from torch.amp.grad_scaler import GradScaler

_MOST_TRIED_STEPS = 100_000
_EPOCHS = re.compile(r"(\d+(?:\.\d+)?) epochs?")
_SHORT = {"adamw": "AdamW", "adam": "Adam", "sgd": "SGD"}
_NAMED_PARAMETERS = 3
"""Most parameters that an error names."""


def is_ours(train: TrainSpec) -> bool:
    """Whether optimizer and schedule are scalebench's own, with checked settings, so that they can surely be made."""
    return (
        train.optimizer in OPTIMIZER.ours
        and train.lr_schedule in SCHEDULE.ours
        and not train.optimizer_options
    )


def build(model: nn.Module, train: TrainSpec, length: RunLength) -> list[torch.optim.Optimizer]:
    """The suite's optimizers of a model: one, unless the user's function makes several.

    `model` is the one that the workload made, after the strategy has distributed it. A user's function also gets the
    run's `steps` and `steps_per_epoch` if it has parameters of these names. Torch's defaults hold for settings
    that the suite does not give. Raises InputError if the optimizer cannot be made or leaves out parameters."""
    where = f"train.optimizer {train.optimizer}"
    if OPTIMIZER.is_custom(train.optimizer):
        own = OPTIMIZER.load(train.optimizer)
        given = own.asked_of(
            {"steps": length.steps, "steps_per_epoch": length.steps_per_epoch}, by_position=("model",)
        )
        given |= {"learning_rate": train.learning_rate, **train.optimizer_options}
        made = _called(own, lambda: own.call(model, **given))
        optimizers = list(made) if isinstance(made, list | tuple) else [made]
        if not optimizers or not all(isinstance(one, torch.optim.Optimizer) for one in optimizers):
            raise InputError(
                f"{own.label}() returned {made!r}: return a torch.optim.Optimizer, or a list of optimizers"
            )
        _check_parameters(model, optimizers, f"{own.label}()")
        return optimizers
    kind = _torch_class(
        torch.optim, torch.optim.Optimizer, _SHORT.get(train.optimizer, train.optimizer), where
    )
    if kind is torch.optim.LBFGS:
        raise InputError(
            f"{where} computes the loss several times per step, which a step cannot: choose another class"
        )
    options: dict[str, Any] = {"lr": train.learning_rate, **train.optimizer_options}
    if train.fused_optimizer:
        options["fused"] = True  # never False: that would also forbid torch's foreach implementation
    if train.optimizer == "sgd":
        options["momentum"] = train.momentum
    if train.weight_decay is not None:
        options["weight_decay"] = train.weight_decay
    return [_called(where, lambda: kind(model.parameters(), **options))]


def schedules(
    optimizers: Sequence[torch.optim.Optimizer], train: TrainSpec, length: RunLength
) -> list[LRScheduler]:
    """The learning-rate schedule of each optimizer, to be stepped once per optimizer step; empty if it is constant.

    A user's function gets the number of steps, and `steps_per_epoch` if it has a parameter of that name. In the options
    of torch's classes `run` and `3 epochs` are numbers of steps. scalebench's own schedules end at total_steps, else
    with the run. Raises InputError if one cannot be made."""
    if train.lr_schedule == "constant":
        return []
    options = train.lr_schedule_options
    if SCHEDULE.is_custom(train.lr_schedule):
        own = SCHEDULE.load(train.lr_schedule)
        by_name = {"steps_per_epoch": length.steps_per_epoch}
        given = own.asked_of(by_name, by_position=("optimizer", "steps")) | options
        made = [_called(own, lambda one=one: own.call(one, length.steps, **given)) for one in optimizers]  # type: ignore[misc]
        wrong = [one for one in made if not isinstance(one, LRScheduler)]
        if wrong:
            raise InputError(
                f"{own.label}() returned {wrong[0]!r}: return a torch.optim.lr_scheduler.LRScheduler"
            )
    elif train.lr_schedule in SCHEDULE.ours:
        return [LambdaLR(one, _factor(train, train.total_steps or length.steps)) for one in optimizers]
    else:
        where = f"train.lr_schedule {train.lr_schedule}"
        kind = _torch_class(lr_scheduler, LRScheduler, train.lr_schedule, where)
        given = _in_steps(options, length, "train.lr_schedule_options")
        made = [_called(where, lambda one=one: kind(one, **given)) for one in optimizers]  # type: ignore[misc]
    if any(isinstance(one, ReduceLROnPlateau) for one in made):
        raise InputError(
            "train.lr_schedule: ReduceLROnPlateau follows a result of validation, which a step does not have: use "
            "constant, which is the same until its patience is over"
        )
    return made


def _in_steps(value: Any, length: RunLength, key: str) -> Any:
    """The value of a key with optimizer steps in place of `run` and `3 epochs`, also in its items. Raises InputError
    for the epochs of a stream, and for what is no number of epochs."""
    if isinstance(value, dict):
        return {name: _in_steps(item, length, f"{key}.{name}") for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_in_steps(item, length, key) for item in value]
    if value == "run":
        return length.steps
    if not isinstance(value, str) or "epoch" not in value.lower():
        return value
    epochs = _EPOCHS.fullmatch(value)
    number = float(epochs[1]) if epochs else math.inf
    if number > LARGEST_COUNT:
        raise InputError(f"{key}: {value!r} is not a number of epochs: write it as `3 epochs`")
    steps = length.steps_in(number)
    if steps is None:
        raise InputError(
            f"{key}: {value}: the length of a stream is not known: give a number of steps, or run"
        )
    return steps


def try_schedules(made: Sequence[LRScheduler], train: TrainSpec, steps: int) -> None:
    """Step the schedules as often as a run does. Raises InputError if one refuses a step."""

    def every_step() -> None:
        for schedule in made:
            for _ in range(min(steps, _MOST_TRIED_STEPS)):
                schedule.step()

    with warnings.catch_warnings(action="ignore"):  # no optimizer takes a step here
        name = train.lr_schedule.rpartition("/")[2]
        _called(f"train.lr_schedule {name}, which the run steps {steps:,} times,", every_step)


def _factor(train: TrainSpec, total: int) -> Callable[[int], float]:
    """Learning rate of a step, in units of the peak."""

    def factor(step: int) -> float:
        if step < train.warmup_steps:
            return (step + 1) / train.warmup_steps
        if train.lr_schedule == "linear_warmup" or total <= train.warmup_steps:
            return 1.0
        done = min(1.0, (step - train.warmup_steps) / (total - train.warmup_steps))
        return 1.0 - done if train.lr_schedule == "linear" else 0.5 * (1.0 + math.cos(math.pi * done))

    return factor


def _torch_class(module: Any, base: type, name: str, where: str) -> Any:
    """The class of that name in a module of torch. Raises InputError if there is none."""
    classes = sorted(
        key
        for key, item in vars(module).items()
        if isinstance(item, type) and issubclass(item, base) and item is not base and not key.startswith("_")
    )
    if name not in classes:
        raise InputError(f"{where}: {module.__name__} has no such class{did_you_mean(name, classes)}")
    return getattr(module, name)


def _called(who: str | Found, make: Callable[[], Any]) -> Any:
    """The result of `make`. Raises InputError if it raises, with the line if that is in the user's file."""
    try:
        return make()
    except torch.OutOfMemoryError:
        raise
    except (Exception, SystemExit) as error:  # a user's function may raise anything
        if isinstance(who, str):
            raise InputError(f"{who} raised {describe(error)}") from error
        where = line_in(error, who.file) if who.file else ""
        raise InputError(f"{who.label}() raised {describe(error)}{where}") from error


def _check_parameters(model: nn.Module, optimizers: Sequence[torch.optim.Optimizer], label: str) -> None:
    """Raise InputError unless the optimizers together hold each parameter that is trained exactly once."""
    held = Counter(
        id(one) for optimizer in optimizers for group in optimizer.param_groups for one in group["params"]
    )
    trained = {id(one): name for name, one in model.named_parameters() if one.requires_grad}
    for problem, names in (
        ("leaves out", [name for key, name in trained.items() if not held[key]]),
        ("gives to two optimizers", [name for key, name in trained.items() if held[key] > 1]),
    ):
        if names:
            more = f" and {len(names) - _NAMED_PARAMETERS} more" if len(names) > _NAMED_PARAMETERS else ""
            raise InputError(
                f"{label} {problem} {', '.join(names[:_NAMED_PARAMETERS])}{more}: every parameter that is trained "
                "belongs to one optimizer"
            )
    if held.keys() - {id(one) for one in model.parameters()}:
        raise InputError(
            f"{label} holds parameters that are not the model's: take those of the model that it is given"
        )


def parameters_of(optimizer: torch.optim.Optimizer) -> Iterator[nn.Parameter]:
    """The parameters that an optimizer holds, in its order."""
    for group in optimizer.param_groups:
        yield from group["params"]


class _Together:
    """Several optimizers, which torch's loss scaler takes for one: it skips all of them, or none."""

    def __init__(self, optimizers: Sequence[torch.optim.Optimizer]) -> None:
        self._optimizers = optimizers
        self.param_groups = [group for optimizer in optimizers for group in optimizer.param_groups]

    def step(self) -> None:
        for optimizer in self._optimizers:
            optimizer.step()


def apply(
    optimizers: Sequence[torch.optim.Optimizer],
    scaler: GradScaler | None,
    clip: Callable[[], None] | None,
    *,
    again: bool = False,
) -> object:
    """Clip the gradients, if asked to, and take a step. Under fp16 the scaler skips the step of all if a gradient of
    one has overflowed: clipping would spread it to the others. The caller calls the scaler's `update`.

    `again`: the optimizers have taken a step since the scaler's last `update`; it accepts one from each object that it
    knows by its id. If several steps are taken before an `update`, keep the answers until then, so that no id is used
    again."""
    if scaler is None:
        if clip is not None:
            clip()
        for optimizer in optimizers:
            optimizer.step()
        return None
    scaled: Any = optimizers[0] if len(optimizers) == 1 and not again else _Together(optimizers)
    if clip is not None:
        scaler.unscale_(scaled)
        clip()
    scaler.step(scaled)
    return scaled


class Ema:
    """Exponential moving averages of the parameters that the optimizers hold.

    They start as the model's initial parameters. After every optimizer step, average = decay x average + (1 - decay) x
    parameter. Each rank averages the parameters that it holds, the whole model under DDP and its shard under FSDP,
    without communication. Buffers, such as the statistics of BatchNorm, are not averaged."""

    @torch.no_grad()
    def __init__(self, optimizers: Sequence[torch.optim.Optimizer], decay: float) -> None:
        self._optimizers = optimizers
        self._weight = 1.0 - decay
        self.averages = [parameter.clone() for parameter in self._parameters()]
        """In the optimizer's order, each with the shape of this rank's part."""

    @torch.no_grad()
    def update(self) -> None:
        """Call it after an optimizer step."""
        torch._foreach_lerp_(self.averages, self._parameters(), self._weight)

    @contextmanager
    def in_place_of_parameters(self) -> Iterator[None]:
        """Inside, the model has the averages; afterwards its own parameters, bit for bit.

        After an error inside, which ends the run, nothing is put back: that may fail too, for example for lack of
        memory, and would hide the first error."""
        self._swap()
        yield
        self._swap()

    @torch.no_grad()
    def _swap(self) -> None:
        for average, parameter in zip(self.averages, self._parameters(), strict=True):
            kept = average.clone()  # one parameter at a time: a second copy of the model may not fit
            average.copy_(parameter)
            parameter.copy_(kept)

    def _parameters(self) -> list[torch.Tensor]:
        """Looked up on each call: FSDP may move a shard to other storage.

        Callers disable gradients, so a DTensor gives its local tensor directly; detach() would go through dispatch."""
        parameters = (one for optimizer in self._optimizers for one in parameters_of(optimizer))
        return [each.to_local() if isinstance(each, DTensor) else each.detach() for each in parameters]
