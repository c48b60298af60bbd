"""Predicts every case and world size of a suite from what is known about a machine."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench import strategies
from bench.common.errors import InputError
from bench.plan.larger_machine import planned
from bench.predict.machine import Machine
from bench.predict.network import total
from bench.predict.pipeline_time import pipeline_time
from bench.predict.step_messages import recorded_group, stretches
from bench.predict.step_time import StepTime, step_time
from bench.records.run_spec import RunSpec, Slots
from bench.shadow.records import PeakMemory, Shadow, total_bytes
from bench.shadow.shadow import TIMEOUT_S, layout_of, shadows, stage_ranks
from bench.suite.models import ResolvedSuite


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """One case at one world size. Unknown values are null; `problem` then says why."""

    spec: RunSpec
    problem: str | None = None
    parameters: int | None = None
    memory: PeakMemory | None = None
    memory_rank: int | None = None
    """The rank that `memory` is that of: the one whose stage of the pipeline needs most. Null without a pipeline."""
    memory_bytes: int | None = None
    """Memory that a rank has."""
    fsdp_bytes: int | None = None
    """Memory per rank with strategy fsdp, if this strategy does not fit."""
    messages: int | None = None
    """Messages that a rank sends in a step."""
    message_bytes: int | None = None
    """Bytes of all these messages, counted as nccl-tests does."""
    time: StepTime | None = None
    step_is_upper_bound: bool = False
    """Whether the step may hide more messages than the prediction knows, so that it takes at most that time."""
    notes: tuple[str, ...] = ()
    """Assumptions."""

    @property
    def fits(self) -> bool | None:
        if self.memory is None or self.memory_bytes is None:
            return None
        return self.memory.total <= self.memory_bytes

    @property
    def throughput(self) -> float | None:
        """Examples per second; of a script, whose batch is unknown, the batches of all ranks."""
        step_s = None if self.time is None else self.time.step_s
        return (self.spec.global_batch or self.spec.world_size) / step_s if step_s else None

    def to_json(self) -> dict[str, Any]:
        spec, time = self.spec, self.time
        return {
            "case_name": spec.case_name,
            "strategy": spec.strategy,
            "scaling": spec.scaling,
            "device_type": spec.device_type,
            "precision": None if spec.runs_a_script else spec.train.precision,
            "world_size": spec.world_size,
            "nodes": spec.nodes,
            "ranks_per_node": spec.ranks_per_node,
            "threads": spec.threads,
            "batch_per_rank": spec.batch_per_rank,
            "global_batch": spec.global_batch,
            "parameters": self.parameters,
            "memory_per_rank_bytes": self.memory
            and {**dataclasses.asdict(self.memory), "total": self.memory.total},
            "memory_rank": self.memory_rank,
            "memory_bytes": self.memory_bytes,
            "fits": self.fits,
            "fsdp_would_take_bytes": self.fsdp_bytes,
            "messages": self.messages,
            "message_bytes": self.message_bytes,
            **({} if time is None else dataclasses.asdict(time)),
            "step_s": time and time.step_s,
            "examples_per_s": self.throughput if spec.global_batch else None,
            "step_is_upper_bound": self.step_is_upper_bound,
            "computing": time and time.computing,
            "notes": self.notes,
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
    asked = [[(spec, rank) for rank in stage_ranks(spec)] for spec in specs]
    every = [one for each in asked for one in each]
    found = iter(shadows(every, counts_flops=counts_flops, timeout_s=timeout_s))
    predicted = []
    for spec, each in zip(specs, asked, strict=True):
        stages = [next(found) for _ in each]
        problem = next((str(one) for one in stages if isinstance(one, InputError)), None)
        made = [one for one in stages if isinstance(one, Shadow)]
        predicted.append(
            predict(spec, made, machine) if problem is None else Prediction(spec=spec, problem=problem)
        )
    return predicted


def predict(spec: RunSpec, stages: Sequence[Shadow], machine: Machine) -> Prediction:
    """From a shadow of rank 0, or with a pipeline one of each stage. A script's optimizer is taken to be as slow as on
    one rank."""
    shadowed, largest = stages[0], max(stages, key=lambda one: one.memory.total)
    fabric = machine.fabric(spec)
    sent = [one for one in shadowed.messages if one.group_size > 1]  # a group of one rank needs no network
    each = [
        None if fabric is None else fabric.sending(one.op, one.message_bytes, recorded_group(one))
        for one in sent
    ]
    communication_s = total(None if one is None else one.seconds for one in each)
    pipeline = None if shadowed.stages is None else layout_of(spec)
    share = shadowed.parameters / shadowed.model_parameters if shadowed.model_parameters else 1.0
    phases = machine.phases(spec, shadowed.flops_per_example, share=share)
    problem = None
    if spec.strategy_options.get("cpu_offload"):
        problem = "the traffic of cpu_offload to the host and back is not known"
    elif fabric is not None and None in each:
        # only the first: a network without any timing is reported once, above all tables
        unknown = sent[each.index(None)]
        problem = fabric.problem(unknown.op, recorded_group(unknown))
    elif phases is None and machine.flops_per_s(spec) is not None and not spec.runs_a_script:
        problem = f"the FLOPs of the model cannot be counted ({shadowed.flops_problem}): measure one rank"
    time = StepTime(communication_s=communication_s, computation_s=None)
    if phases is not None and problem is None:
        cores = machine.cores(spec)
        if pipeline is None:
            step = stretches(spec, sent, phases)
            time = step_time(step, communication_s, fabric, cores)
        else:
            time = pipeline_time(spec, pipeline, sent, phases, communication_s, fabric, cores)
    return Prediction(
        spec=spec,
        problem=problem,
        parameters=shadowed.model_parameters,
        memory=largest.memory,
        memory_rank=largest.rank if len(stages) > 1 else None,
        memory_bytes=machine.memory_bytes(spec),
        messages=len(sent),
        message_bytes=total_bytes(sent),
        time=time,
        step_is_upper_bound=bool(sent) and _may_hide_more(spec),
        notes=shadowed.notes,
    )


def _may_hide_more(spec: RunSpec) -> bool:
    """Whether the rank may hide messages behind computation, and its shadow, which is on a CPU, did not."""
    if spec.device_type == "cpu":
        return False
    layout = layout_of(spec) if not spec.runs_a_script else None
    if layout is None:  # a script, or a strategy from elsewhere
        return spec.strategy not in ("ddp", "fsdp", "fsdp1")
    return layout.async_tp or (layout.pp > 1 and layout.dp_replicate * layout.sharding > 1)


def _as_fsdp(spec: RunSpec) -> RunSpec:
    """The same run with strategy fsdp and its default options."""
    options = dataclasses.asdict(strategies.load("fsdp").Options())
    return dataclasses.replace(spec, strategy="fsdp", strategy_options=options)
