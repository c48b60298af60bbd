"""Checks before a session exists: can this machine prepare every workload of the plan, and do the user's parts work?

The checks run in a process forked from the fork server, because they need torch and read data.
"""

from __future__ import annotations

import faulthandler
import json
import signal
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.common.custom_part import label
from bench.common.errors import InputError
from bench.records.messages import Gpu
from bench.records.run_spec import MeasureSpec, TrainSpec

if TYPE_CHECKING:
    from torch import nn

    from bench.workloads import Workload


_TF32 = (8, 0)
"""Compute capability of the first GPUs with tf32."""


def main(answer: Connection, question_json: str) -> None:
    """Entry of the forked process: answers with a JSON list of problems, empty if there are none. Before each call that
    may take long it sends an object with `cases`, `call`, the `timeout_s` of a run, the `problems` found so far, and
    perhaps the `remedy` if it does not end.

    The question has `jobs`, the `gpus` of this agent, and the file `stacks`, to which SIGUSR1 writes the stacks of this
    process."""
    from bench.common.error_text import describe
    from bench.train import check_gpus
    from bench.train.error_place import place_of

    question = json.loads(question_json)
    stacks = Path(question["stacks"]).open("w")  # noqa: SIM115 - for the life of the process
    faulthandler.register(signal.SIGUSR1, file=stacks, all_threads=True)
    cases: dict[str, dict[str, None]] = {}  # problem -> its cases, in order

    def problems() -> list[str]:
        return [f"{_named(names)}: {problem}" for problem, names in cases.items()]

    on_gpus = [job for job in question["jobs"] if job["device_type"] == "cuda"]
    gpu_problem = None
    if on_gpus:
        names = [name for job in on_gpus for name in job["case_names"]]
        doing = {"cases": _named(dict.fromkeys(names)), "call": "the first use of the GPUs", "problems": []}
        remedy = "the driver may hang: see whether `nvidia-smi` answers"
        answer.send_bytes(
            json.dumps({**doing, "timeout_s": on_gpus[0]["timeout_s"], "remedy": remedy}).encode()
        )
        gpu_problem = check_gpus.problem([Gpu(**gpu) for gpu in question["gpus"]])

    for job in question["jobs"]:

        def calls(call: str, job: dict[str, Any] = job) -> None:
            doing = {"cases": _named(job["case_names"]), "call": call, "timeout_s": job["timeout_s"]}
            answer.send_bytes(json.dumps({**doing, "problems": problems()}).encode())

        try:
            on_gpu = job["device_type"] == "cuda"
            problem = gpu_problem if on_gpu and gpu_problem else _problem(job, calls)
        except (Exception, SystemExit, KeyboardInterrupt) as error:  # of a later call of a user's method
            problem = describe(error) + place_of(error, job["workload"], job["strategy"], job["source"])
        if problem is not None:
            cases.setdefault(problem, {}).update(dict.fromkeys(job["case_names"]))
    answer.send_bytes(json.dumps(problems()).encode())


def _named(cases: Collection[str]) -> str:
    """`case a`, or `cases a, b`."""
    return f"{'case' if len(cases) == 1 else 'cases'} {', '.join(cases)}"


def _problem(job: dict[str, Any], calls: Callable[[str], None]) -> str | None:
    """Why the job's runs would fail; null if nothing is known. `calls` is told each call that may take long."""
    from bench import strategies, workloads
    from bench.train import script

    calls(f"the import of {label(job['workload'])} and of the strategy {label(job['strategy'])}")
    if workloads.runs_a_script(job["workload"]):
        return script.obstacle(job["options"])

    from bench.train import check_stages, check_strategy
    from bench.train.check_workload import checked
    from bench.train.members import has_members

    if reason := _lacking(job):
        return reason
    make = partial(workloads.make, job)
    try:
        if workloads.is_custom(job["workload"]) or workloads.is_stream(job["workload"], job["source"]):
            workload = checked(make, job["workload"], job["strategy"], calls)
        else:
            workload = make()
            calls(f"prepare() of {job['workload']}")
            workload.prepare()
        if strategies.is_custom(job["strategy"]):
            calls(f"a step under the strategy {label(job['strategy'])}")
            check_strategy.check(job, workload)
        if job["world_size"] is not None:
            calls(f"the division of the model by the strategy {label(job['strategy'])}")
            strategies.suits(
                job["strategy"],
                job["strategy_options"],
                job["world_size"],
                workload,  # type: ignore[arg-type] # bench/suite/rules.py has checked its methods
                TrainSpec(**job["train"]),
            )
            if workloads.is_custom(job["workload"]) and (count := _stages(job)) > 1:
                check_stages.check(workload, count)
    except (InputError, OSError) as error:
        reason = str(error)
        if isinstance(error, OSError) and error.filename is not None:
            reason = f"{error.filename} cannot be read: {error.strerror}"
        return reason
    train = TrainSpec(**job["train"])
    calls(f"the model, the optimizer and the schedule of {label(job['workload'])}")
    if train.checkpointing and not _blocks(workload):
        return f"train.checkpointing: {job['workload']} has no blocks to recompute"
    if train.float8 and not _has_float8_layers(workload):
        return f"train.float8: {job['workload']} has no blocks with linear layers whose sizes are multiples of 16"
    if job["wire"] and has_members(_model(workload)):
        return (
            f"measure.wire is for models that are trained as one, and the model of {label(job['workload'])} is an "
            "nn.ModuleDict: leave the key out, or put the members into one module with a forward"
        )
    if job["validate_every"] and workloads.validation_size(workload) == 0:
        return (
            f"measure.validate_every: {job['workload']} has no examples to validate on: leave the key out, or set it "
            "to 0, as with --set measure.validate_every=0"
        )
    return _optimizer_problem(job, workload)


def _stages(job: dict[str, Any]) -> int:
    """Stages of the pipeline through which the job's model passes; 1 without one."""
    from bench import strategies

    kind: Any = strategies.load(job["strategy"])
    if not hasattr(kind, "layout"):
        return 1
    stages: int = kind.layout(kind.Options(**job["strategy_options"]), job["world_size"]).stages
    return stages


def _has_float8_layers(workload: Workload) -> bool:
    import torch

    from bench.train import float8

    with torch.device("meta"):
        return bool(float8.layers(workload.blocks(workload.model())))


def _optimizer_problem(job: dict[str, Any], workload: Workload) -> str | None:
    """Why the optimizer or the schedule cannot be made; null if they can, or if they are scalebench's own."""
    from torch import nn

    from bench import workloads
    from bench.train import optimizer
    from bench.train.members import trained_members
    from bench.train.run_length import run_length

    train = TrainSpec(**job["train"])
    if optimizer.is_ours(train):
        return None
    measure = MeasureSpec(**job["measure"])
    global_batch = job["global_batch"]  # 0 until find_batch has found it
    length = run_length(measure, workloads.epoch_size(workload), global_batch or 1)

    def problem(model: nn.Module, train: TrainSpec) -> str | None:
        members = trained_members(model) if workloads.makes_steps(workload) else {"": model}
        try:
            for member in members.values():
                schedules = optimizer.schedules(optimizer.build(member, train, length), train, length)
                optimizer.try_schedules(schedules, train, length.steps if global_batch else 0)
        except InputError as error:
            return str(error)
        return None

    if train.fused_optimizer:  # torch refuses it on meta
        if reason := problem(nn.Linear(2, 2, bias=False), train):
            return reason
        train = replace(train, fused_optimizer=False)
    model = _on_meta(workload)
    if model is not None and problem(model, train) is None:
        return None
    return problem(workload.model(), train)  # a user's function may need values


def _lacking(job: dict[str, Any]) -> str | None:
    """A requirement of the training that this machine lacks; null if there is none."""

    from bench import strategies

    if reason := strategies.lacking(job["strategy"]):
        return f"strategy {label(job['strategy'])}: {reason}"
    if job["train"]["precision"] == "tf32" and not _has_tf32():
        return "train.precision is tf32, which needs an Ampere GPU or newer, or an MI300: choose fp32 or fp16"
    reason = _no_compiler(job["device_type"]) if job["train"]["compile"] else None
    return reason and f"train.compile: {reason}"


def _has_tf32() -> bool:
    import torch

    if torch.version.hip is not None:
        return str(torch.cuda.get_device_properties().gcnArchName).startswith("gfx94")
    return torch.cuda.get_device_capability() >= _TF32


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
    return workload.blocks(_model(workload))


def _model(workload: Workload) -> nn.Module:
    model = _on_meta(workload)
    return workload.model() if model is None else model


def _on_meta(workload: Workload) -> nn.Module | None:
    """The model without memory, because drawing billions of parameters takes a minute; null if it cannot be made so."""
    import torch

    try:
        with torch.device("meta"):
            return workload.model()
    except Exception:  # a custom model may compute with values while it is built
        return None
