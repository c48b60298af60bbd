"""Plans a suite for as many nodes like this one as its world sizes need."""

from __future__ import annotations

import dataclasses

from bench import strategies
from bench.machine.slots import slots_per_node
from bench.plan.plan import plan
from bench.plan.world_sizes import automatic
from bench.records.run_spec import PlannedRun, Slots
from bench.records.vocabulary import DeviceType
from bench.suite.models import ResolvedSuite

_UNLIMITED = 1_000_000
"""Nodes, and ranks of a node without a known number of slots."""


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
    if run.skip_reason is not None or run.spec.runs_a_command:
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
        skip_reason="find_batch has not chosen its batch yet: give one, as in "
        f"--set cases.{name}.find_batch=false --set cases.{name}.batch_per_rank=32",
    )
