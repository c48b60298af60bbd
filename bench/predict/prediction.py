"""One case at one size: what it takes, and whether it fits."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench import strategies
from bench.predict.ask import Answer, key
from bench.predict.fabric import Fabric
from bench.predict.memory import MemoryPerRank, memory_per_rank
from bench.predict.step import StepTime, step_time
from bench.predict.traffic import Sent, sent
from bench.records.run_spec import PlannedRun, RunSpec


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What is known of the machine that the suite is meant for."""

    fabric: Callable[[RunSpec], Fabric | None]
    flops_per_s: Callable[[RunSpec], float | None]
    """That one device achieves at the run's precision."""
    memory_bytes: Callable[[RunSpec], int | None]
    """That a rank has."""
    words: Callable[[str], tuple[str, ...]]
    """Where a type of device has its figures from, or how to get them."""


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """Of one case at one size; what is not known is null, and `problem` says why."""

    spec: RunSpec
    problem: str | None = None
    parameters: int | None = None
    memory: MemoryPerRank | None = None
    memory_bytes: int | None = None
    """That a rank has."""
    sharded_bytes: int | None = None
    """That strategy fsdp would take, where this one does not fit."""
    messages: int | None = None
    """Of a rank in a step."""
    message_bytes: float | None = None
    """Of all of them, counted as nccl-tests does."""
    time: StepTime | None = None

    @property
    def fits(self) -> bool | None:
        if self.memory is None or self.memory_bytes is None:
            return None
        return self.memory.total <= self.memory_bytes

    def to_json(self) -> dict[str, Any]:
        spec, time = self.spec, self.time
        return {
            "case_name": spec.case_name,
            "strategy": spec.strategy,
            "scaling": spec.scaling,
            "device_type": spec.device_type,
            "precision": spec.train.precision,
            "world_size": spec.world_size,
            "nodes": spec.nodes,
            "ranks_per_node": spec.ranks_per_node,
            "threads": spec.threads,
            "batch_per_rank": spec.batch_per_rank,
            "global_batch": spec.global_batch,
            "parameters": self.parameters,
            "memory_per_rank_bytes": self.memory
            and {**dataclasses.asdict(self.memory), "total": self.memory.total},
            "memory_bytes": self.memory_bytes,
            "fits": self.fits,
            "fsdp_would_take_bytes": self.sharded_bytes,
            "messages": self.messages,
            "message_bytes": self.message_bytes,
            **({} if time is None else dataclasses.asdict(time)),
            "step_s": time and time.step_s,
            "computing": time and time.computing,
            "problem": self.problem,
        }


def predict(run: PlannedRun, answers: Mapping[str, Answer], machine: Machine) -> Prediction:
    """`answers` has the run's model, unless the run has a reason to be skipped."""
    spec = run.spec
    if run.skip_reason is not None:
        return Prediction(spec=spec, problem=run.skip_reason)
    answer = answers[key(spec)]
    if answer.size is None:
        return Prediction(spec=spec, problem=answer.problem)
    size = answer.size
    messages, unknown = sent(spec, size.parameters, size.units)
    flops = None if answer.flops_per_example is None else answer.flops_per_example * spec.batch_per_rank
    fabric = machine.fabric(spec) if not unknown else None
    return Prediction(
        spec=spec,
        problem=unknown or _never_timed(spec, messages, fabric),
        parameters=size.parameters,
        memory=memory_per_rank(spec, size, answer.working_set(spec.micro_batch)),
        memory_bytes=machine.memory_bytes(spec),
        messages=None if unknown else sum(one.messages for one in messages),
        message_bytes=None if unknown else sum(one.message_bytes for one in messages),
        time=None if unknown else step_time(spec, messages, fabric, machine.flops_per_s(spec), flops),
    )


def _never_timed(spec: RunSpec, messages: Sequence[Sent], fabric: Fabric | None) -> str | None:
    """The first; a network of which nothing is known is said once, above all tables."""
    problems = (None if fabric is None else fabric.problem(one, spec) for one in messages)
    return next((problem for problem in problems if problem is not None), None)


def sharded(spec: RunSpec) -> RunSpec:
    """The same run with strategy fsdp as it is where nothing is said of it."""
    options = dataclasses.asdict(strategies.load("fsdp").Options())
    return dataclasses.replace(spec, strategy="fsdp", strategy_options=options)
