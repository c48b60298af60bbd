"""One rank takes a few optimizer steps of a run, and the last one is recorded: by a shadow, or by a real rank."""

from __future__ import annotations

import resource
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch.utils._python_dispatch import _disable_current_modes

from bench import workloads
from bench.common.errors import InputError
from bench.measure.messages import MessageRecorder
from bench.measure.recorder import WARMUP
from bench.models.experts import ExpertLayer
from bench.records.run_spec import RunSpec
from bench.shadow.hollow import Hollow
from bench.shadow.memory import StorageLog
from bench.shadow.messages import as_message
from bench.shadow.on_gpu import steps_of_a_gpu
from bench.shadow.records import Shadow
from bench.train import rank as ranks
from bench.train.flops import CUSTOM_STEPS, NOTHING_COUNTED, failure_note, of_batches
from bench.train.rank_job import RankJob

if TYPE_CHECKING:
    from bench.train.custom_step import Phase
    from bench.train.loop import Training

_T = TypeVar("_T")
_FIRST_STEPS = 1
"""Steps in which the optimizer allocates its state, and torch its buffers."""


def step_of(spec: RunSpec, rank: int, *, hollow: bool) -> Shadow:
    """The messages and memory of an optimizer step of this rank, whose process group is joined. `hollow`: on tensors
    without values. Raises the errors that the workload's and the strategy's methods raise on a CPU."""
    began = perf_counter()
    offloads = spec.strategy_options.get("cpu_offload")
    is_on_gpu = spec.device_type == "cuda"
    spec, notes = _as_it_runs_here(spec)
    device = torch.device("cpu")
    ranks.configure(spec, device)
    workload = ranks.prepared(spec)
    with ExitStack() as inside:
        scratch = inside.enter_context(tempfile.TemporaryDirectory())
        if hollow:
            inside.enter_context(Hollow())
            if is_on_gpu:
                inside.enter_context(steps_of_a_gpu())
            ExpertLayer.balanced = True
        messages = inside.enter_context(MessageRecorder())
        log = inside.enter_context(StorageLog())
        training, size = ranks.training_of(_job(rank, scratch), spec, workload, device)
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
        phases = [phase.removeprefix("idle_") for phase in clock.phases]
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
        parameters = sum(
            getattr(one, "_local_tensor", one).numel() for one in training.own_model.parameters()
        )
        stages = getattr(training.model, "own_stages", None)
        if any(isinstance(one, ExpertLayer) for one in training.own_model.modules()):
            notes.append("every expert gets as many tokens as every other")
    return Shadow(
        rank=rank,
        stages=None if stages is None else tuple(stages),
        parameters=parameters,
        model_parameters=size["parameters"],
        messages=tuple(sent),
        memory=memory,
        seconds=perf_counter() - began,
        ram_bytes=1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        notes=tuple(notes),
    )


def flops_per_example(spec: RunSpec) -> float:
    """FLOPs of forward and backward of the whole model. Raises InputError if they cannot be counted."""
    workload = ranks.prepared(spec)
    if workloads.makes_steps(workload):
        raise InputError(CUSTOM_STEPS)
    try:
        (flops,) = of_batches(workload, spec.micro_batch)
    # no reason to refuse the shadow, whose small tensors have values
    except Exception as error:
        raise InputError(failure_note(error, spec.workload)) from error
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
    own_kernels = train.optimizer in ("adamw", "adam", "sgd") and not train.fused_optimizer
    if spec.device_type == "cuda" and own_kernels and "foreach" not in train.optimizer_options:
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


def _job(rank: int, scratch: str) -> RankJob:
    return RankJob(
        spec={}, rank=rank, local_rank=0, node=0, local_task=0, cpus=[], device_index=None,
        cuda_visible_devices=None, shares_gpus=False, rendezvous="", interface=None, scratch=scratch, log="",
        server_pid=0, variables_of_bench=[],
    )  # fmt: skip


def _outside(items: Iterator[_T]) -> Iterator[_T]:
    """The same items, made with values: a loader may read them."""
    while True:
        with _disable_current_modes():
            item = next(items, None)
        if item is None:
            return
        yield item


def _tell_what_stays(training: Training, log: StorageLog) -> None:
    log.tell(training.model.parameters(), "parameters")
    log.tell(training.model.buffers(), "buffers")
    for optimizer in training.optimizers:
        for state in optimizer.state.values():
            log.tell((one for one in state.values() if isinstance(one, torch.Tensor)), "optimizer")
    if training.ema is not None:
        log.tell(training.ema.averages, "optimizer")


@dataclass
class _Clock:
    """The clock of a training that is not timed: counts marks."""

    marked: Callable[[], None]
    completed: int = 0
    keep_idle: Any = None
    phases: Sequence[str] = ()

    def barrier(self) -> int:
        return 0

    def mark(self) -> None:
        self.marked()

    def step_done(
        self,
        marks: list[Any],
        loss: torch.Tensor,  # noqa: ARG002 - the protocol's signature
        kind: int,  # noqa: ARG002
        phases: Sequence[Phase] | None = None,
    ) -> None:
        micro_batches = (len(marks) - 2) // 3
        self.phases = phases or ("data", "forward", "backward") * micro_batches + ("optimizer",)

    def flush(self) -> None: ...

    def resume(self) -> None: ...

    def abandon(self) -> None: ...
