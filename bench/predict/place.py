"""The runs of a suite at any world size, on nodes that need not be there, and the memory that a rank would have."""

from __future__ import annotations

import dataclasses

from bench import strategies
from bench.plan import plan
from bench.plan_sizes import automatic
from bench.records.run_spec import PlannedRun, Slots
from bench.records.vocabulary import DeviceType
from bench.slots import slots_per_node
from bench.suite.models import Case, ResolvedSuite

_MANY = 1_000_000


def placed(suite: ResolvedSuite, here: Slots, data_root: str | None) -> tuple[PlannedRun, ...]:
    """One run of each case and size. Nodes are as many as it takes, each like this one; without GPUs here, and no word
    of how many a node has, all ranks on a GPU are on one node. A batch that does not divide is a reason to be
    skipped."""
    runs: list[PlannedRun] = []
    for case in suite.cases:
        device: DeviceType = here.device_type if case.device == "auto" else case.device
        alone = dataclasses.replace(suite, cases=(_written_out(case, here, device),))
        runs += plan(alone, _imagined(here, device), "predicted", data_root=data_root, refuses=False)
    return tuple(run for run in runs if run.spec.repeat == 0)


def _imagined(here: Slots, device: DeviceType) -> Slots:
    per_node = slots_per_node(here, device, None) or _MANY
    return Slots(
        nodes=_MANY,
        slots_per_node=per_node,
        cpus_per_node=here.cpus_per_node,
        device_type=device,
        cuda_devices_per_node=per_node if device == "cuda" else 0,
        fixed=True,
    )


def _written_out(case: Case, here: Slots, device: DeviceType) -> Case:
    """`auto` is what this machine would make of it."""
    limit = strategies.load(case.strategy.name).max_world_size
    sizes = automatic(here.nodes * slots_per_node(here, device, None), limit)
    world = [own for size in case.world for own in (sizes if size == "auto" else [size])]
    return case.model_copy(update={"world": tuple(dict.fromkeys(world))})


def memory_at_hand(device: DeviceType, ranks_per_node: int) -> int | None:
    """Bytes for a rank: of the smallest GPU here, null without one; on a CPU a share of what is free of the node."""
    from bench.doctor.gather import memory_available_bytes
    from bench.doctor.gather_nvidia import gather_nvidia

    if device == "cuda":
        return min((gpu.memory_bytes for gpu in gather_nvidia().gpus), default=None)
    return memory_available_bytes() // ranks_per_node
