"""The installed packages that a run uses. Ranks import this module, so it stays small."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench import strategies, workloads
from bench.common import entry_points
from bench.common.custom_function import LOADER, OPTIMIZER, SCHEDULE
from bench.common.errors import InputError
from bench.strategies._custom import STRATEGY
from bench.workloads._custom import WORKLOAD

if TYPE_CHECKING:
    from importlib import metadata

    from bench.records.run_spec import RunSpec


def packages(spec: RunSpec) -> list[metadata.Distribution]:
    """The installed packages whose entry points a run uses, except those without a name or a version."""
    optimizer, schedule = spec.train.optimizer, spec.train.lr_schedule
    parts = (
        (WORKLOAD.group, spec.workload, workloads.is_custom(spec.workload)),
        (STRATEGY.group, spec.strategy, strategies.is_custom(spec.strategy)),
        (LOADER.group, spec.data.source, _has_loader(spec)),
        (OPTIMIZER.group, optimizer, OPTIMIZER.is_custom(optimizer)),
        (SCHEDULE.group, schedule, SCHEDULE.is_custom(schedule)),
    )
    found = [
        entry.dist
        for group, name, is_custom in parts
        if is_custom and ":" not in name
        for entry in entry_points.found(group).get(name, [])
    ]
    return list({one.name: one for one in found if one is not None and one.name and one.version}.values())


def _has_loader(spec: RunSpec) -> bool:
    try:
        return workloads.is_stream(spec.workload, spec.data.source)
    except (
        InputError
    ):  # the workload's file was edited during the session; the run's outcome says why it fails
        return False
