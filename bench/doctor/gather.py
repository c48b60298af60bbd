"""Facts of this machine. Writes nothing that stays."""

from __future__ import annotations

import os
import platform
import resource
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import psutil

from bench import slots
from bench.cgroup import cpu_quota, memory_left_bytes
from bench.container import container_kind
from bench.doctor.facts import Facts, Folder
from bench.doctor.gather_nvidia import gather_nvidia
from bench.doctor.gather_torch import gather_torch
from bench.errors import InputError
from bench.records.run_spec import Slots

_VARIABLES = (
    "PYTHONPATH",
    "CUDA_VISIBLE_DEVICES",
    "SLURM_JOB_ID",
    "SLURM_STEP_ID",
    "SLURM_JOB_NUM_NODES",
    "SLURM_NODEID",
    "SLURM_PROCID",
    "SLURM_NTASKS",
    "SLURM_STEP_NUM_NODES",
    "SLURM_STEP_NUM_TASKS",
    "SLURM_STEP_NODELIST",
    "SLURM_GPUS_ON_NODE",
    "SLURM_CPUS_ON_NODE",
    "SLURM_CPUS_PER_TASK",
    "APPTAINER_CONTAINER",
    "TMPDIR",
)


def gather(results: Path) -> Facts:
    """The facts of this machine; asking torch takes some seconds.

    `results` is the folder that sessions would be written to; it need not exist.
    """
    torch, torch_error = gather_torch()
    counted, slots_error = _slots()
    return Facts(
        python=platform.python_version(),
        cpus_online=os.cpu_count() or 1,
        cpus_given=len(os.sched_getaffinity(0)),
        cpu_quota=cpu_quota(),
        memory_available_bytes=memory_available_bytes(),
        nvidia=gather_nvidia(),
        slots=counted,
        slots_error=slots_error,
        torch=torch,
        torch_error=torch_error,
        container=container_kind(),
        environment={name: os.environ[name] for name in _VARIABLES if name in os.environ},
        results=folder(results),
        temporary=folder(_temporary()),
        shared_memory_bytes=_size_bytes(Path("/dev/shm")),  # noqa: S108 - looked at, not written to
        open_files=resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        locked_memory_bytes=resource.getrlimit(resource.RLIMIT_MEMLOCK)[0],
        infiniband=any(Path("/sys/class").glob("infiniband/*")),
        compiler=shutil.which(os.environ.get("CXX") or "g++"),
        clock_source=_text(Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
        clock_read_ns=_clock_read_ns(),
    )


def _slots() -> tuple[Slots | None, str | None]:
    try:
        return slots.detect(), None
    except InputError as error:
        return None, str(error)


def folder(path: Path) -> Folder:
    """What the file system says of `path`, or of its nearest parent that exists."""
    existing = path.absolute()
    while not existing.exists():
        existing = existing.parent
    return Folder(
        path=str(path),
        writable=existing.is_dir() and os.access(existing, os.W_OK | os.X_OK),
        free_bytes=shutil.disk_usage(existing).free,
        file_system=_file_system(existing.resolve()),
    )


def _temporary() -> Path:
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError:  # not one of its candidates is writable
        return Path("/tmp")  # noqa: S108 - to be reported as not writable


def _file_system(path: Path) -> str:
    mounts = {Path(part.mountpoint): part.fstype for part in psutil.disk_partitions(all=True)}
    return next((mounts[place] for place in (path, *path.parents) if place in mounts), "unknown")


def memory_available_bytes() -> int:
    """Of this machine and of the control groups around this process, the less."""
    left = memory_left_bytes()
    available: int = psutil.virtual_memory().available
    return available if left is None else min(available, left)


def _size_bytes(path: Path) -> int | None:
    return shutil.disk_usage(path).total if path.is_dir() else None


def _text(path: Path) -> str | None:
    return path.read_text().strip() if path.is_file() else None


def _clock_read_ns() -> float:
    clock = time.perf_counter_ns
    spans = []
    for _ in range(51):
        begin = clock()
        for _ in range(100):
            clock()
        spans.append((clock() - begin) / 101)
    return statistics.median(spans)
