"""Shared memory, through which loader workers pass batches and NCCL exchanges buffers."""

from __future__ import annotations

from bench.doctor.facts import Facts
from bench.doctor.finding import Verdicts, ok, warn

_FOLDER = "/dev/shm"  # noqa: S108 - not written to
_LEAST_BYTES = 2**30


def check(facts: Facts) -> Verdicts:
    size = facts.shared_memory_bytes
    if size is None:
        yield warn(
            f"there is no {_FOLDER}: suites with data.workers > 0 will fail", f"mount a tmpfs on {_FOLDER}"
        )
    elif size >= _LEAST_BYTES:
        yield ok(f"{_FOLDER} holds {size / 2**30:.1f} GiB")
    else:
        larger = {
            "docker": "start the container with --shm-size=8g",
            "podman": "start the container with --shm-size=8g",
        }
        yield warn(
            f"{_FOLDER} holds only {size / 2**20:.0f} MiB: loader workers with large batches end with a bus error",
            larger.get(facts.container or "", f"mount a larger tmpfs on {_FOLDER}")
            + ", or keep data.workers: 0",
        )
