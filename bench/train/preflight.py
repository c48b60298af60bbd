"""Before a session exists: can every workload of the plan be made ready here?

Runs in a process forked from the warm server, because it needs torch and reads data.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from bench.errors import InputError

if TYPE_CHECKING:
    from torch import nn

    from bench.workloads import Workload


_TF32 = (8, 0)
"""Compute capability of the first GPUs that have it."""


def main(answer: Connection, jobs_json: str) -> None:
    """Entry of the forked process: answers with a JSON list of what is wrong, empty where all is well."""
    problems: list[str] = []
    for job in json.loads(jobs_json):
        problem = _problem(job)
        if problem is not None and problem not in problems:
            problems.append(problem)
    answer.send_bytes(json.dumps(problems).encode())


def _problem(job: dict[str, Any]) -> str | None:
    import torch

    from bench import workloads
    from bench.train.check_workload import checked

    if job["device_type"] == "cuda" and not torch.cuda.is_available():
        return "device cuda: torch sees no CUDA device here; `bench doctor` says why"
    if reason := _lacking(job):
        return f"case {job['case_name']}: {reason}"
    kind = workloads.load(job["workload"])
    make = partial(kind, kind.Options(**job["options"]), job["source"], job["data_root"], job["seed"])
    try:
        workload = checked(make, job["workload"]) if workloads.is_own(job["workload"]) else _prepared(make)
    except (InputError, OSError) as error:
        return f"case {job['case_name']}: {_said(error)}"
    if job["checkpointing"] and not _blocks(workload):
        return f"case {job['case_name']}: train.checkpointing: {job['workload']} has no blocks to recompute"
    if job["validate_every"] and workload.validation_size == 0:
        return f"case {job['case_name']}: measure.validate_every: {job['workload']} has no examples to validate on"
    return None


def _said(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename} cannot be read: {error.strerror}"
    return str(error)


def _lacking(job: dict[str, Any]) -> str | None:
    """What training asks for and this machine has not; null where it has all."""
    import torch

    from bench import strategies

    if reason := strategies.lacking(job["strategy"]):
        return f"strategy {job['strategy']}: {reason}"
    if job["precision"] == "tf32" and torch.cuda.get_device_capability() < _TF32:
        return "train.precision is tf32, and this GPU is older than Ampere, which brought it: choose fp32 or fp16"
    reason = _no_compiler(job["device_type"]) if job["compile"] else None
    return reason and f"train.compile: {reason}"


def _no_compiler(device_type: str) -> str | None:
    """Why torch.compile could make no code here; null where it can."""
    if device_type == "cuda":
        from torch.utils._triton import has_triton

        return (
            None if has_triton() else "it needs Triton, which does not work with this GPU or is not installed"
        )
    from torch._inductor.cpp_builder import get_cpp_compiler
    from torch._inductor.exc import InvalidCxxCompiler

    try:
        get_cpp_compiler()
    except InvalidCxxCompiler:
        return "on a CPU it needs a C++ compiler, and none was found: install g++, or name one in CXX"
    return None


def _prepared(make: Callable[[], Workload]) -> Workload:
    workload = make()
    workload.prepare()
    return workload


def _blocks(workload: Workload) -> list[nn.Module]:
    """Of a model without memory, where it can be built so: billions of parameters would take a minute to draw."""
    import torch

    try:
        with torch.device("meta"):
            return workload.blocks(workload.model())
    except RuntimeError:  # an own model may compute with values while it is built
        return workload.blocks(workload.model())
