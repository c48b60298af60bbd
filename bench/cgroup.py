"""Limits of the control groups that this process is in, version 2 and version 1."""

from __future__ import annotations

from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
_OF_PROCESS = Path("/proc/self/cgroup")


def cpu_quota() -> float | None:
    """CPUs' worth of time per second, the tightest on the way up; null without a limit."""
    quotas = []
    for group in _groups("cpu"):
        quota, period = _number(group / "cpu.cfs_quota_us"), _number(group / "cpu.cfs_period_us")
        if (group / "cpu.max").is_file():
            quota, period = (_parse(word) for word in (group / "cpu.max").read_text().split())
        if quota is not None and quota > 0 and period:
            quotas.append(quota / period)
    return min(quotas, default=None)


def memory_left_bytes() -> int | None:
    """Limit less use, the tightest on the way up; null without a limit. Pages of files that nobody has touched lately
    are given back when memory is wanted: they are not in use."""
    left = []
    for group in _groups("memory"):
        for limit_name, used_name in (
            ("memory.max", "memory.current"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes"),
        ):
            limit, used = _number(group / limit_name), _number(group / used_name)
            if limit is not None and used is not None:
                left.append(max(0, limit - max(0, used - _reclaimable_bytes(group))))
    return min(left, default=None)


def _reclaimable_bytes(group: Path) -> int:
    """Of the group and all below it: version 1 has that sum under a name of its own."""
    file = group / "memory.stat"
    lines = file.read_text().splitlines() if file.is_file() else []
    found = {name: int(value) for name, _, value in (line.partition(" ") for line in lines)}
    return found.get("total_inactive_file", found.get("inactive_file", 0))


def _groups(controller: str) -> list[Path]:
    """Folders of this process's group and of all above it; as a container shows them, if it does."""
    found = []
    for line in _OF_PROCESS.read_text().splitlines():
        _number_of_hierarchy, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        root = _ROOT / controllers if controllers else _ROOT
        group = root / path.lstrip("/")
        found += [place for place in (group, *group.parents) if place.is_relative_to(root)]
    return found


def _number(path: Path) -> int | None:
    return _parse(path.read_text()) if path.is_file() else None


def _parse(word: str) -> int | None:
    return None if word.strip() == "max" else int(word)
