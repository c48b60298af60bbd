"""Limits of this process: open files, and memory that it may lock for a network adapter."""

from __future__ import annotations

from bench.doctor.facts import Facts
from bench.doctor.finding import Verdicts, ok, warn

_LEAST_FILES = 1024
_LEAST_LOCKED_BYTES = 2**30


def check(facts: Facts) -> Verdicts:
    files, locked = facts.open_files, facts.locked_memory_bytes
    if 0 <= files < _LEAST_FILES:
        yield warn(
            f"only {files} open files are allowed: loader workers may run out of them",
            f"ulimit -n {4 * _LEAST_FILES}",
        )
    else:
        yield ok("open files: " + ("no limit" if files < 0 else f"{files}"))
    if facts.infiniband and 0 <= locked < _LEAST_LOCKED_BYTES:
        yield warn(
            f"only {locked / 2**20:.1f} MiB may be locked, and InfiniBand is here: NCCL cannot register its buffers",
            "ulimit -l unlimited (Slurm: PropagateResourceLimitsExcept=MEMLOCK, set by the administrator)",
        )
