"""Limits of the control groups, version 1 and 2, that this process is in, and the memory that a rank may take."""

from __future__ import annotations

import re
from pathlib import Path

import psutil

from bench.common.system_files import number_in, numbers_of, text_of
from bench.records.run_spec import RunSpec

_ROOT = Path("/sys/fs/cgroup")
_OF_PROCESS = Path("/proc/self/cgroup")


def cpu_quota() -> float | None:
    """CPU seconds per second, the lowest limit of the group and its parents; null without a limit."""
    quotas = []
    for group in _groups("cpu"):
        quota, period = number_in(group / "cpu.cfs_quota_us"), number_in(group / "cpu.cfs_period_us")
        if len(of_version_2 := numbers_of(text_of(group / "cpu.max"))) == 2:
            quota, period = of_version_2
        if quota is not None and quota > 0 and period:
            quotas.append(quota / period)
    return min(quotas, default=None)


def memory_left_bytes() -> int | None:
    """Limit minus use in bytes, the lowest of the group and its parents; null without a limit.

    Inactive pages of files do not count as used: the kernel frees them when memory is needed."""
    left = []
    for group in _groups("memory"):
        for limit_name, used_name in (
            ("memory.max", "memory.current"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes"),
        ):
            limit, used = number_in(group / limit_name), number_in(group / used_name)
            if limit is not None and used is not None:
                left.append(max(0, limit - max(0, used - _reclaimable_bytes(group))))
    return min(left, default=None)


def _reclaimable_bytes(group: Path) -> int:
    """Inactive pages of files of the group and its children; version 1 has its own name for that sum."""
    found = {
        name: int(value)
        for name, value in re.findall(r"^(\w+) (\d{1,20})$", text_of(group / "memory.stat"), re.M)
    }
    return found.get("total_inactive_file", found.get("inactive_file", 0))


def _groups(controller: str) -> list[Path]:
    """Folders of this process's group and its parents, as far as a container shows them."""
    found = []
    for controllers, path in re.findall(r"^\d+:([^:]*):(.*)$", text_of(_OF_PROCESS), re.MULTILINE):
        if controllers and controller not in controllers.split(","):
            continue
        root = _ROOT / controllers if controllers else _ROOT
        group = root / path.lstrip("/")
        found += [place for place in (group, *group.parents) if place.is_relative_to(root)]
    return found


_RANKS_FRACTION = 0.8
"""Fraction of the available memory that ranks may take; the rest is for the agent, the page cache and others."""
_LEAST_BYTES = 64 * 2**20


def share_bytes(run: RunSpec) -> int:
    """Memory in bytes that one rank of a run may take, so that the kernel never kills it because memory ran out.

    Assumes that every node has as much available memory as this one, within the limits of its control groups."""
    left = memory_left_bytes()
    available: int = psutil.virtual_memory().available
    if left is not None:
        available = min(available, left)
    return max(_LEAST_BYTES, int(_RANKS_FRACTION * available / run.ranks_per_node))
