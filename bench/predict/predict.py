"""Predicts every case and world size of a suite from what is known about a machine."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from bench import strategies
from bench.common.errors import InputError
from bench.machine.slots import slots_per_node
from bench.plan.plan import plan
from bench.plan.world_sizes import automatic
from bench.predict.machine import Machine
from bench.predict.memory import MemoryPerRank, memory_per_rank
from bench.predict.model_probe import ProbedModel, model_key, probe_models
from bench.predict.network import step_traffic, total
from bench.predict.one_rank import Phases
from bench.predict.pipeline_time import pipeline_time
from bench.predict.step_messages import recorded_group, recorded_stretches, stretches
from bench.predict.step_time import StepTime, step_time
from bench.records.run_spec import PlannedRun, RunSpec, Slots
from bench.records.vocabulary import DeviceType
from bench.shadow.shadow import layout_of, shadow
from bench.suite.models import ResolvedSuite

_KNOWN = ("single", "ddp", "fsdp", "fsdp1")
"""Strategies whose memory and traffic have formulas; a shadow finds those of others."""
_UNLIMITED = 1_000_000
"""Nodes, and ranks of a node without a known number of slots."""


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """One case at one world size. Unknown values are null; `problem` then says why."""

    spec: RunSpec
    problem: str | None = None
    parameters: int | None = None
    memory: MemoryPerRank | None = None
    memory_bytes: int | None = None
    """Memory that a rank has."""
    fsdp_bytes: int | None = None
    """Memory per rank with strategy fsdp, if this strategy does not fit."""
    messages: int | None = None
    """Messages that a rank sends in a step."""
    message_bytes: float | None = None
    """Bytes of all these messages, counted as nccl-tests does."""
    time: StepTime | None = None
    step_is_upper_bound: bool = False
    """Whether the step may hide more messages than the prediction knows, so that it takes at most that time."""

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
            "fsdp_would_take_bytes": self.fsdp_bytes,
            "messages": self.messages,
            "message_bytes": self.message_bytes,
            **({} if time is None else dataclasses.asdict(time)),
            "step_s": time and time.step_s,
            "step_is_upper_bound": self.step_is_upper_bound,
            "computing": time and time.computing,
            "problem": self.problem,
        }


def predictions(
    suite: ResolvedSuite, here: Slots, machine: Machine, data_root: str | None
) -> list[Prediction]:
    """One prediction per case and world size. Raises InputError if the suite cannot be planned."""
    runs = planned(suite, here, data_root)
    specs = [run.spec for run in runs if run.skip_reason is None and not run.spec.runs_a_script]
    models = (
        probe_models(specs, counts_flops=any(machine.flops_per_s(spec) for spec in specs)) if specs else {}
    )
    found = [
        Prediction(spec=run.spec, problem=run.skip_reason)
        if run.skip_reason is not None
        else _by_shadow(run.spec, None, machine.phases(run.spec, None), machine)
        if run.spec.runs_a_script
        else predict(run.spec, models[model_key(run.spec)], machine)
        for run in runs
    ]
    too_large = {
        index: as_fsdp(one.spec)
        for index, one in enumerate(found)
        if one.fits is False and one.spec.strategy == "ddp" and one.spec.world_size > 1
    }
    if too_large:
        models = probe_models(too_large.values(), counts_flops=False)
        for index, spec in too_large.items():
            memory = predict(spec, models[model_key(spec)], machine).memory
            found[index] = dataclasses.replace(found[index], fsdp_bytes=memory.total if memory else None)
    return found


def planned(suite: ResolvedSuite, here: Slots, data_root: str | None) -> list[PlannedRun]:
    """One run per case and world size, on as many nodes like this one as it needs. A size such as 8x512 says how many
    ranks its nodes have.

    Without local GPUs and without --ranks-per-node, all GPU ranks are on one node. World size `auto` is expanded as on
    this machine. A batch that does not divide, and a run without steps, become a skip reason."""
    runs: list[PlannedRun] = []
    for case in suite.cases:
        device: DeviceType = here.device_type if case.device == "auto" else case.device
        per_node = slots_per_node(here, device, None)
        sizes = automatic(here.nodes * per_node, strategies.load(case.strategy.name).max_world_size)
        world = [one for size in case.world for one in (sizes if size == "auto" else [size])]
        per_node = max([per_node, *(size[1] for size in world if isinstance(size, tuple))])
        slots = Slots(
            nodes=_UNLIMITED,
            slots_per_node=per_node or _UNLIMITED,
            cpus_per_node=here.cpus_per_node,
            device_type=device,
            cuda_devices_per_node=(per_node or _UNLIMITED) if device == "cuda" else 0,
            fixed=True,
        )
        alone = case.model_copy(update={"world": tuple(dict.fromkeys(world))})
        suite_of_case = dataclasses.replace(suite, cases=(alone,))
        runs += plan(suite_of_case, slots, "predicted", data_root=data_root, refuses=False)
    return [_skipped_without_steps(run) for run in runs if run.spec.repeat == 0]


def _skipped_without_steps(run: PlannedRun) -> PlannedRun:
    if run.skip_reason is not None or run.spec.runs_a_script:
        return run
    if run.spec.train.float8:
        return dataclasses.replace(run, skip_reason="the time of products in float8 is not known")
    if run.spec.batch_per_rank:
        return run
    if not run.pending:
        return dataclasses.replace(run, skip_reason="it trains nothing: there is no step to predict")
    name = run.spec.case_name.partition("~")[0]
    return dataclasses.replace(
        run,
        skip_reason=f"find_batch has not chosen its batch yet: give one, as in --set cases.{name}.batch_per_rank=32",
    )


def predict(spec: RunSpec, model: ProbedModel, machine: Machine) -> Prediction:
    if model.size is None:
        return Prediction(spec=spec, problem=model.problem)
    phases = machine.phases(spec, model.flops_per_example)
    if spec.strategy not in _KNOWN:
        return _by_shadow(spec, model.size.parameters, phases, machine)
    size = model.size
    traffic, unknown = step_traffic(spec, size.parameters, size.units)
    fabric = None if unknown else machine.fabric(spec)
    communication_s = total(None if fabric is None else fabric.seconds(one, spec) for one in traffic)
    # Only the first operation that was never timed; a network without any timing is reported once, above all tables.
    never_timed = (
        None if fabric is None else next(filter(None, (fabric.problem(one, spec) for one in traffic)), None)
    )
    step = None if phases is None else stretches(spec, size, traffic, phases)
    return Prediction(
        spec=spec,
        problem=unknown or never_timed,
        parameters=size.parameters,
        memory=memory_per_rank(spec, size, model.working_set(spec.micro_batch)),
        memory_bytes=machine.memory_bytes(spec),
        messages=None if unknown else sum(one.messages for one in traffic),
        message_bytes=None if unknown else sum(one.message_bytes for one in traffic),
        time=None if unknown else step_time(step, communication_s, fabric, machine.cores(spec)),
    )


def _by_shadow(spec: RunSpec, parameters: int | None, phases: Phases | None, machine: Machine) -> Prediction:
    """Messages and memory from a shadow of rank 0. `phases`: those of a rank with the whole model; ranks that share a
    batch divide them evenly, and the optimizer's as they divide the parameters. `parameters`: those of the whole model;
    null for a script, whose optimizer is then taken to be as slow as on one rank."""
    try:
        shadowed = shadow(spec)
    except InputError as error:
        return Prediction(spec=spec, problem=str(error), parameters=parameters)
    fabric, memory, sent = machine.fabric(spec), shadowed.memory, shadowed.messages
    times = [
        None if fabric is None else fabric.sending(one.op, one.message_bytes, recorded_group(one))
        for one in sent
    ]
    pipeline = None if shadowed.stages is None else layout_of(spec)
    problem = None
    if fabric is not None and None in times:
        problem = f"{sent[times.index(None)].op} was never timed between as many nodes"
    communication_s = total(None if one is None else one.seconds for one in times)
    time = StepTime(communication_s=communication_s, computation_s=None)
    if phases is not None and problem is None:
        divided = Phases(
            data_s=phases.data_s,
            forward_s=phases.forward_s / spec.ranks_per_batch,
            backward_s=phases.backward_s / spec.ranks_per_batch,
            optimizer_s=phases.optimizer_s * (shadowed.parameters / parameters if parameters else 1),
        )
        cores = machine.cores(spec)
        if pipeline is None:
            time = step_time(recorded_stretches(spec, sent, divided), communication_s, fabric, cores)
        else:
            time = pipeline_time(spec, pipeline, sent, divided, communication_s, fabric, cores)
    return Prediction(
        spec=spec,
        problem=problem,
        parameters=parameters,
        memory=MemoryPerRank(
            parameters=memory.parameters + memory.buffers,
            gradients=memory.gradients,
            optimizer=memory.optimizer,
            activations=memory.activations,
            communication=memory.communication,
        ),
        memory_bytes=machine.memory_bytes(spec),
        messages=len(sent),
        message_bytes=sum(one.message_bytes for one in sent),
        time=time,
        step_is_upper_bound=bool(sent) and _may_hide_more(spec),
    )


def _may_hide_more(spec: RunSpec) -> bool:
    """Whether the rank may hide messages behind computation, and its shadow, which is on a CPU, did not."""
    if spec.device_type == "cpu":
        return False
    layout = layout_of(spec) if not spec.runs_a_script else None
    if layout is None:  # a script, or a strategy from elsewhere
        return not spec.strategy.startswith(("fsdp", "ddp"))
    return layout.async_tp or (layout.pp > 1 and layout.dp_replicate * layout.sharding > 1)


def as_fsdp(spec: RunSpec) -> RunSpec:
    """The same run with strategy fsdp and its default options."""
    options = dataclasses.asdict(strategies.load("fsdp").Options())
    return dataclasses.replace(spec, strategy="fsdp", strategy_options=options)
