"""Predicts every case and world size of a suite from what is known about a machine."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench import strategies
from bench.plan.larger_machine import planned
from bench.predict.machine import Machine
from bench.predict.network import total
from bench.predict.step_messages import recorded_group, stretches
from bench.predict.step_time import StepTime, step_time
from bench.records.run_spec import RunSpec, Slots
from bench.shadow.records import MessageSum, PeakMemory, Shadow, total_bytes
from bench.shadow.shadow import TIMEOUT_S, shadows
from bench.suite.models import ResolvedSuite


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """One case at one world size. Unknown values are null; `problem` then says why."""

    spec: RunSpec
    problem: str | None = None
    parameters: int | None = None
    memory: PeakMemory | None = None
    memory_bytes: int | None = None
    """Memory that a rank has."""
    fsdp_bytes: int | None = None
    """Memory per rank with strategy fsdp, if this strategy does not fit."""
    messages: int | None = None
    """Messages that a rank sends in a step."""
    message_bytes: int | None = None
    """Bytes of all these messages, counted as nccl-tests does."""
    message_sums: tuple[MessageSum, ...] = ()
    """The messages by phase, group and operation."""
    time: StepTime | None = None
    step_is_upper_bound: bool = False
    """Whether the step may hide more messages than the prediction knows, so that it takes at most that time."""
    notes: tuple[str, ...] = ()
    """Assumptions."""
    doubts: tuple[str, ...] = ()
    """Why the measured runs that give the computation may be wrong."""

    @property
    def fits(self) -> bool | None:
        if self.memory is None or self.memory_bytes is None:
            return None
        return self.memory.total <= self.memory_bytes

    @property
    def throughput(self) -> float | None:
        """Examples per second; of a command, whose batch is unknown, the batches of all ranks."""
        step_s = None if self.time is None else self.time.step_s
        return (self.spec.global_batch or self.spec.world_size) / step_s if step_s else None

    def to_json(self, *, messages: bool = False) -> dict[str, Any]:
        """`messages`: with `message_sums`."""
        spec, time = self.spec, self.time
        return {
            "case_name": spec.case_name,
            "strategy": spec.strategy,
            "scaling": spec.scaling,
            "device_type": spec.device_type,
            "precision": None if spec.runs_a_command else spec.train.precision,
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
            "fsdp_would_take_bytes": self.fsdp_bytes,
            "messages": self.messages,
            "message_bytes": self.message_bytes,
            **({"message_sums": list(map(dataclasses.asdict, self.message_sums))} if messages else {}),
            **({} if time is None else dataclasses.asdict(time)),
            "step_s": time and time.step_s,
            "examples_per_s": self.throughput if spec.global_batch else None,
            "step_is_upper_bound": self.step_is_upper_bound,
            "computing": time and time.computing,
            "notes": self.notes,
            "doubts": self.doubts,
            "problem": self.problem,
        }


def predictions(
    suite: ResolvedSuite,
    here: Slots,
    machine: Machine,
    data_root: str | None,
    *,
    timeout_s: float = TIMEOUT_S,
) -> list[Prediction]:
    """One prediction per case and world size. `timeout_s`: for each shadow.

    Raises InputError if the suite cannot be planned."""
    runs = planned(suite, here, data_root)
    specs = [run.spec for run in runs if run.skip_reason is None]
    found = iter(_predicted(specs, machine, timeout_s))
    every = [
        next(found) if run.skip_reason is None else Prediction(spec=run.spec, problem=run.skip_reason)
        for run in runs
    ]
    too_large = [
        index
        for index, one in enumerate(every)
        if one.fits is False and one.spec.strategy == "ddp" and one.spec.world_size > 1
    ]
    as_fsdp = shadows([(_as_fsdp(every[index].spec), 0) for index in too_large], timeout_s=timeout_s)
    for index, one in zip(too_large, as_fsdp, strict=True):
        if isinstance(one, Shadow):
            every[index] = dataclasses.replace(every[index], fsdp_bytes=one.memory.total)
    return every


def _predicted(specs: Sequence[RunSpec], machine: Machine, timeout_s: float) -> list[Prediction]:
    counts_flops = any(machine.flops_per_s(spec) is not None for spec in specs)
    found = shadows([(spec, 0) for spec in specs], counts_flops=counts_flops, timeout_s=timeout_s)
    return [
        predict(spec, one, machine) if isinstance(one, Shadow) else Prediction(spec=spec, problem=str(one))
        for spec, one in zip(specs, found, strict=True)
    ]


def predict(spec: RunSpec, shadowed: Shadow, machine: Machine) -> Prediction:
    """From a shadow of rank 0. A command's optimizer is taken to be as slow as on one rank."""
    fabric = machine.fabric(spec)
    sent = shadowed.sent
    each = [
        None if fabric is None else fabric.sending(one.op, one.message_bytes, recorded_group(one))
        for one in sent
    ]
    communication_s = total(None if one is None else one.seconds for one in each)
    share = shadowed.parameters / shadowed.model_parameters if shadowed.model_parameters else 1.0
    phases = machine.phases(spec, shadowed.flops_per_example, share=share)
    problem = None
    if spec.strategy_options.get("cpu_offload"):
        problem = "the traffic of cpu_offload to the host and back is not known"
    elif fabric is not None and None in each:
        # only the first: a network without any timing is reported once, above all tables
        unknown = sent[each.index(None)]
        problem = fabric.problem(unknown.op, recorded_group(unknown))
    elif phases is None and machine.flops_per_s(spec) is not None and not spec.runs_a_command:
        problem = f"the FLOPs of the model cannot be counted ({shadowed.flops_problem}): measure one rank"
    time = StepTime(communication_s=communication_s, computation_s=None)
    if phases is not None and problem is None:
        step = stretches(spec, sent, phases)
        time = step_time(step, communication_s, fabric, machine.cores(spec))
    return Prediction(
        spec=spec,
        problem=problem,
        parameters=shadowed.model_parameters,
        memory=shadowed.memory,
        memory_bytes=machine.memory_bytes(spec),
        messages=len(sent),
        message_bytes=total_bytes(sent),
        message_sums=shadowed.sums(),
        time=time,
        step_is_upper_bound=bool(sent) and _may_hide_more(spec),
        notes=shadowed.notes,
        doubts=() if time.step_s is None else machine.doubts(spec),
    )


def _may_hide_more(spec: RunSpec) -> bool:
    """Whether the rank may hide messages behind computation, and its shadow, which is on a CPU, did not."""
    return spec.device_type != "cpu" and spec.strategy not in ("ddp", "fsdp", "fsdp1", "tp", "mesh")


def _as_fsdp(spec: RunSpec) -> RunSpec:
    """The same run with strategy fsdp and its default options."""
    options = dataclasses.asdict(strategies.load("fsdp").Options())
    return dataclasses.replace(spec, strategy="fsdp", strategy_options=options)
