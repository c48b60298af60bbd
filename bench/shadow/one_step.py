"""One rank takes a few optimizer steps of a run, and the last one is recorded: by a shadow, or by a real rank."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from bench.common.errors import InputError
from bench.common.torch_private import disable_current_modes
from bench.measure.messages import MessageRecorder
from bench.measure.recorder import WARMUP
from bench.records.run_spec import RunSpec
from bench.shadow.hollow import Hollow
from bench.shadow.memory import StorageLog, local
from bench.shadow.messages import as_message
from bench.shadow.on_gpu import steps_of_a_gpu
from bench.shadow.records import Shadow
from bench.train import rank as ranks
from bench.train.flops import NOTHING_COUNTED, failure_note, of_batches

if TYPE_CHECKING:
    from bench.train.loop import Training

_T = TypeVar("_T")
_FIRST_STEPS = 1
"""Steps in which the optimizer allocates its state, and torch its buffers."""


def step_of(spec: RunSpec, rank: int, *, hollow: bool) -> Shadow:
    """The messages and memory of an optimizer step of this rank, whose process group is joined. `hollow`: on tensors
    without values. Raises the errors that the workload's and the strategy's methods raise on a CPU."""
    offloads = spec.strategy_options.get("cpu_offload")
    is_on_gpu = spec.device_type == "cuda"
    spec, notes = _as_it_runs_here(spec)
    device = torch.device("cpu")
    ranks.configure(spec, device)
    workload = ranks.prepared(spec)
    with ExitStack() as inside:
        if hollow:
            inside.enter_context(Hollow())
            if is_on_gpu:
                inside.enter_context(steps_of_a_gpu())
        messages = inside.enter_context(MessageRecorder())
        log = inside.enter_context(StorageLog())
        training, size = ranks.training_of(rank, spec, workload, device)
        training.batches = _outside(training.batches)
        for _ in range(_first_steps(spec)):
            training.step(_Clock(lambda: None), WARMUP)
        _tell_what_stays(training, log)
        messages.restart()
        log.begin()

        moments = []

        def marked() -> None:
            messages.marks += 1
            moments.append(log.moment())
            log.tell((one.grad for one in training.model.parameters()), "gradients")

        clock = _Clock(marked)
        training.step(clock, WARMUP)
        phases = clock.phases
        sent = [
            as_message(
                one,
                spec.ranks_per_node,
                phase=phases[one.mark - 1],
                computed_before=messages.computed_before(one),
                micro_batch=min(phases[: one.mark].count("data"), spec.train.accumulate) - 1,
            )
            for one in messages.sent
        ]
        if offloads:  # the shards, and all that the optimizer makes, are in host memory
            updates = [
                range(begin, end)
                for phase, begin, end in zip(phases, moments, moments[1:], strict=False)
                if phase == "optimizer"
            ]
            memory = log.peak(without=("parameters", "gradients", "optimizer"), without_made_in=updates)
        else:
            memory = log.peak()
        parameters = sum(local(one).numel() for one in training.own_model.parameters())
    return Shadow(
        parameters=parameters,
        model_parameters=size["parameters"],
        messages=tuple(sent),
        memory=memory,
        notes=tuple(notes),
    )


def flops_per_example(spec: RunSpec) -> float:
    """FLOPs of forward and backward of the whole model. Raises InputError if they cannot be counted."""
    workload = ranks.prepared(spec)
    try:
        (flops,) = of_batches(workload, spec.micro_batch)
    # no reason to refuse the shadow, whose small tensors have values
    except Exception as error:
        raise InputError(failure_note(error)) from error
    if not flops:
        raise InputError(NOTHING_COUNTED)
    return flops / spec.micro_batch


def _as_it_runs_here(spec: RunSpec) -> tuple[RunSpec, list[str]]:
    """The run as a shadow can take its steps, and what it assumes."""
    notes = []
    train = spec.train
    if train.compile:
        notes.append(
            "without train.compile: messages are the same, but compiled code usually needs less memory"
        )
        train = replace(train, compile=False, compile_loss=False)
    if spec.device_type == "cuda" and not train.fused_optimizer and "foreach" not in train.optimizer_options:
        # as torch chooses on a GPU: one operation for all parameters, with temporary tensors as large
        train = replace(train, optimizer_options={**train.optimizer_options, "foreach": True})
    options = dict(spec.strategy_options)
    if options.get("cpu_offload"):
        notes.append("shards, their gradients and the optimizer are in host memory, which is not counted")
        options["cpu_offload"] = False
    if options.get("gradient_compression") == "powersgd":
        options["powersgd_start_step"] = 2  # the fewest; later steps are the same
    spec = replace(spec, device_type="cpu", train=train, strategy_options=options)
    measure = replace(
        spec.measure,
        warmup=max(spec.measure.warmup, 1 + _first_steps(spec)),
        profiled=0,
        selfcheck=0,
    )
    return replace(spec, measure=measure, data=replace(spec.data, workers=0)), notes


def _first_steps(spec: RunSpec) -> int:
    """Steps before the one that is like all others."""
    options = spec.strategy_options
    if spec.strategy != "ddp":
        return _FIRST_STEPS
    # DDP forms its buckets again in the second step; powersgd begins after some synchronisations
    compressed = options["gradient_compression"] == "powersgd"
    return 1 + _FIRST_STEPS + (int(options["powersgd_start_step"]) if compressed else 0)


def _outside(items: Iterator[_T]) -> Iterator[_T]:
    """The same items, made with values: a loader may read them."""
    while True:
        with disable_current_modes():
            item = next(items, None)
        if item is None:
            return
        yield item


def _tell_what_stays(training: Training, log: StorageLog) -> None:
    log.tell(training.model.parameters(), "parameters")
    log.tell(training.model.buffers(), "buffers")
    for state in training.optimizer.state.values():
        log.tell((one for one in state.values() if isinstance(one, torch.Tensor)), "optimizer")
    if training.ema is not None:
        log.tell(training.ema.averages, "optimizer")


@dataclass
class _Clock:
    """The clock of a training that is not timed: counts marks."""

    marked: Callable[[], None]
    completed: int = 0
    phases: Sequence[str] = ()

    def barrier(self) -> int:
        return 0

    def mark(self) -> None:
        self.marked()

    def step_done(self, marks: list[Any], loss: torch.Tensor, kind: int) -> None:  # noqa: ARG002 - the protocol's
        micro_batches = (len(marks) - 2) // 3
        self.phases = ("data", "forward", "backward") * micro_batches + ("optimizer",)

    def flush(self) -> None: ...

    def resume(self) -> None: ...

    def abandon(self) -> None: ...
