"""Checks before a session exists: can this machine prepare every workload of the plan?

The checks run in a process forked from the fork server, because they need torch and read data.
"""

from __future__ import annotations

import json
from functools import partial
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from bench.common.errors import InputError

if TYPE_CHECKING:
    from torch import nn

    from bench.workloads import Workload


_TF32 = (8, 0)
"""Compute capability of the first GPUs with tf32."""


def main(answer: Connection, jobs_json: str) -> None:
    """Entry of the forked process: answers with a JSON list of problems, empty if there are none."""
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
        return "device cuda: torch finds no CUDA device here; `bench doctor` shows why"
    if reason := _lacking(job):
        return f"case {job['case_name']}: {reason}"
    kind = workloads.load(job["workload"])
    make = partial(kind, kind.Options(**job["options"]), job["source"], job["data_root"], job["seed"])
    try:
        if workloads.is_custom(job["workload"]):
            workload = checked(make, job["workload"])
        else:
            workload = make()
            workload.prepare()
    except (InputError, OSError) as error:
        reason = str(error)
        if isinstance(error, OSError) and error.filename is not None:
            reason = f"{error.filename} cannot be read: {error.strerror}"
        return f"case {job['case_name']}: {reason}"
    if job["checkpointing"] and not _blocks(workload):
        return f"case {job['case_name']}: train.checkpointing: {job['workload']} has no blocks to recompute"
    if job["validate_every"] and workload.validation_size == 0:
        return f"case {job['case_name']}: measure.validate_every: {job['workload']} has no examples to validate on"
    return None


def _lacking(job: dict[str, Any]) -> str | None:
    """A requirement of the training that this machine lacks; null if there is none."""
    import torch

    from bench import strategies

    if reason := strategies.lacking(job["strategy"]):
        return f"strategy {job['strategy']}: {reason}"
    if job["precision"] == "tf32" and torch.cuda.get_device_capability() < _TF32:
        return "train.precision is tf32, which needs an Ampere GPU or newer: choose fp32 or fp16"
    reason = _no_compiler(job["device_type"]) if job["compile"] else None
    return reason and f"train.compile: {reason}"


def _no_compiler(device_type: str) -> str | None:
    """Why torch.compile cannot generate code here; null if it can."""
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


def _blocks(workload: Workload) -> list[nn.Module]:
    """The blocks of a model, built without memory if possible: drawing billions of parameters would take a minute."""
    import torch

    try:
        with torch.device("meta"):
            return workload.blocks(workload.model())
    except RuntimeError:  # a custom model may compute with values while it is built
        return workload.blocks(workload.model())
