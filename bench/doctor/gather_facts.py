"""Gather the facts of this machine. Leaves no files behind."""

from __future__ import annotations

import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import psutil

from bench.common import safe_path
from bench.common.errors import InputError
from bench.common.system_files import text_of
from bench.doctor.facts import Facts, Folder, Torch
from bench.doctor.gather_nvidia import gather_nvidia
from bench.machine import amd_gpus, gpus, slots
from bench.machine.cgroup import cpu_quota, memory_left_bytes
from bench.machine.container import container_kind

_TORCH_TIMEOUT_S = 120
_VARIABLES = (
    "PYTHONPATH",
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
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
    """The facts of this machine. Takes some seconds, mostly for torch.

    `results` is the folder for sessions; it need not exist.
    """
    torch, torch_error = _gather_torch()
    try:
        counted, slots_error, visible = slots.detect(), None, gpus.visible()
    except InputError as error:
        counted, slots_error, visible = None, str(error), []
    given = os.sched_getaffinity(0)
    shared_memory = Path("/dev/shm")  # noqa: S108 - not written to
    return Facts(
        python=platform.python_version(),
        cpus_online=os.cpu_count() or 1,
        cpus_given=len(given),
        cpu_quota=cpu_quota(),
        memory_available_bytes=memory_available_bytes(),
        nvidia=gather_nvidia(),
        amd_gpus=len(amd_gpus.uuids()),
        far_gpus=tuple(gpu.index for gpu in visible if gpu.cpus and given.isdisjoint(gpu.cpus)),
        slots=counted,
        slots_error=slots_error,
        torch=torch,
        torch_error=torch_error,
        container=container_kind(),
        environment={name: os.environ[name] for name in _VARIABLES if name in os.environ},
        results=folder(results),
        temporary=folder(_temporary()),
        shared_memory_bytes=shutil.disk_usage(shared_memory).total if shared_memory.is_dir() else None,
        open_files=resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        locked_memory_bytes=resource.getrlimit(resource.RLIMIT_MEMLOCK)[0],
        infiniband=any(Path("/sys/class").glob("infiniband/*")),
        compiler=shutil.which(os.environ.get("CXX") or "g++"),
        clock_source=text_of("/sys/devices/system/clocksource/clocksource0/current_clocksource") or None,
        clock_read_ns=_clock_read_ns(),
    )


def _gather_torch() -> tuple[Torch | None, str | None]:
    """The facts that bench/doctor/probe_torch.py finds, or why it found none.

    It is a separate process: a broken torch must not end `bench doctor`."""
    command = safe_path.command("bench.doctor.probe_torch")
    environment = safe_path.environment()
    try:
        result = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=_TORCH_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return None, f"no answer within {_TORCH_TIMEOUT_S} s"
    if result.returncode != 0:
        lines = result.stderr.strip().splitlines()
        return None, lines[-1] if lines else f"its process ended with {result.returncode}"
    return Torch(**json.loads(result.stdout.splitlines()[-1])), None


def folder(path: Path) -> Folder:
    """Facts of the folder `path`, by its nearest parent that exists."""
    existing = path.absolute()
    while not existing.exists():
        existing = existing.parent
    resolved = existing.resolve()
    mounts = {Path(part.mountpoint): part.fstype for part in psutil.disk_partitions(all=True)}
    return Folder(
        path=str(path),
        writable=existing.is_dir() and os.access(existing, os.W_OK | os.X_OK),
        free_bytes=shutil.disk_usage(existing).free,
        file_system=next(
            (mounts[place] for place in (resolved, *resolved.parents) if place in mounts), "unknown"
        ),
    )


def _temporary() -> Path:
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError:  # none of its candidates is writable
        return Path("/tmp")  # noqa: S108 - reported as not writable


def memory_available_bytes() -> int:
    """Memory in bytes that is available on this machine and within the control groups of this process."""
    left = memory_left_bytes()
    available: int = psutil.virtual_memory().available
    return available if left is None else min(available, left)


def _clock_read_ns() -> float:
    """Median time of one reading of the monotonic clock."""
    clock = time.perf_counter_ns
    spans = []
    for _ in range(51):
        begin = clock()
        for _ in range(100):
            clock()
        spans.append((clock() - begin) / 101)
    return statistics.median(spans)
