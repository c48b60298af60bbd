"""Checks before a session exists: can this machine prepare every workload of the plan, and do the user's parts work?

The checks run in a process forked from the fork server, because they need torch and read data.
"""

from __future__ import annotations

import faulthandler
import json
import shlex
import signal
import sys
import traceback
from collections.abc import Callable, Collection
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.common import torch_private
from bench.common.custom_file import label, said
from bench.common.errors import InputError
from bench.records.messages import Gpu
from bench.records.run_spec import TrainSpec

if TYPE_CHECKING:
    from torch import nn

    from bench.workloads import Workload


_TF32 = (8, 0)
"""Compute capability of the first GPUs with tf32."""


def main(answer: Connection, question_json: str) -> None:
    """Entry of the forked process. It answers with a JSON list of the problems and of the jobs to skip, each as its
    place and the reason. Before each call that may take long it sends an object with `cases`, `call`, the `timeout_s`
    of a run, the `problems` found so far, and perhaps the `remedy` if it does not end.

    The question has `jobs`, the `gpus` of this agent, and the file `stacks`, to which SIGUSR1 writes the stacks of this
    process."""
    from bench.train import check_gpus

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

    lacking: dict[int, str] = {}  # job's place -> reason to skip it
    for place, job in enumerate(question["jobs"]):

        def calls(call: str, job: dict[str, Any] = job) -> None:
            doing = {"cases": _named(job["case_names"]), "call": call, "timeout_s": job["timeout_s"]}
            answer.send_bytes(json.dumps({**doing, "problems": problems()}).encode())

        try:
            on_gpu = job["device_type"] == "cuda"
            calls(f"the import of {label(job['workload'])} and of the strategy {label(job['strategy'])}")
            if reason := _lacking(job):
                lacking[place] = reason
                continue
            problem = gpu_problem if on_gpu and gpu_problem else _problem(job, calls)
        except InputError as error:
            problem = str(error)
        except (Exception, SystemExit, KeyboardInterrupt) as error:  # a user's method may raise anything
            if getattr(error, "name", None) == "torchvision":
                lacking[place] = _no_torchvision(job)
                continue
            problem = f"{said(error)}\n{''.join(traceback.format_exception(error)).rstrip()}"
        if problem is not None:
            cases.setdefault(problem, {}).update(dict.fromkeys(job["case_names"]))
    answer.send_bytes(json.dumps([problems(), list(lacking.items())]).encode())


def _named(cases: Collection[str]) -> str:
    """`case a`, or `cases a, b`."""
    return f"{'case' if len(cases) == 1 else 'cases'} {', '.join(cases)}"


def _problem(job: dict[str, Any], calls: Callable[[str], None]) -> str | None:
    """Why the job's runs would fail; null if nothing is known. `calls` is told each call that may take long."""
    from bench import strategies, workloads
    from bench.command.rank import obstacle

    if workloads.runs_a_command(job["workload"]):
        return obstacle(job["options"])

    from bench.train import optimizer, trial

    train = TrainSpec(**job["train"])
    if reason := _missing(job) or optimizer.problem(train):
        return reason
    try:
        workload = workloads.make(job)
        calls(f"prepare() of {label(job['workload'])}")
        workload.prepare()
        if job["world_size"] is not None:
            calls(f"the division of the model by the strategy {label(job['strategy'])}")
            strategies.suits(job["strategy"], job["strategy_options"], job["world_size"], workload, train)
    except InputError as error:
        return str(error)
    except OSError as error:
        if error.filename is None:
            raise
        return f"{error.filename} cannot be read: {error.strerror}"
    if trial.is_due(job):
        calls(f"a step of {label(job['workload'])} under the strategy {label(job['strategy'])}")
        trial.take(job, workload)
    calls(f"the model of {label(job['workload'])}")
    if train.checkpointing and not _blocks(workload):
        return f"train.checkpointing: {job['workload']} has no blocks to recompute"
    if train.float8 and not _has_float8_layers(workload):
        return f"train.float8: {job['workload']} has no blocks with linear layers whose sizes are multiples of 16"
    if job["validate_every"] and workload.validation_size == 0:
        return (
            f"measure.validate_every: {job['workload']} has no examples to validate on: leave the key out, or set it "
            "to 0, as with --set measure.validate_every=0"
        )
    return None


def _has_float8_layers(workload: Workload) -> bool:
    import torch

    from bench.train import float8

    with torch.device("meta"):
        return bool(float8.layers(workload.blocks(workload.model())))


def _lacking(job: dict[str, Any]) -> str | None:
    """Why the installed torch cannot do the job's runs, which are then skipped; null if it can."""
    from bench import strategies, workloads

    if workloads.runs_a_command(job["workload"]):
        return None
    reason = strategies.lacking(
        job["strategy"], job["strategy_options"], job["device_type"], wire=job["wire"]
    )
    if reason is None:
        return None
    import torch

    return f"strategy {label(job['strategy'])} on torch {torch.__version__}: {reason}"


def _no_torchvision(job: dict[str, Any]) -> str:
    """Why the job's runs are skipped, and the command that installs what they need."""
    import torch

    kept = f"torch=={torch.__version__.partition('+')[0]}"  # pip would take a newer one for the newest torchvision
    install = shlex.join([sys.executable, "-m", "pip", "install", "torchvision", kept])
    return f"torchvision is missing, which {label(job['workload'])} or its data need: `{install}` installs it"


def _missing(job: dict[str, Any]) -> str | None:
    """A requirement of the training that this machine does not meet; null if there is none."""
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
        return (
            None
            if torch_private.has_triton()
            else "it needs Triton, which does not work with this GPU or is not installed"
        )
    try:
        torch_private.get_cpp_compiler()
    except RuntimeError:  # torch has found none
        return "on a CPU it needs a C++ compiler, and none was found: install g++, or name one in CXX"
    return None


def _blocks(workload: Workload) -> list[nn.Module]:
    return workload.blocks(_model(workload))


def _model(workload: Workload) -> nn.Module:
    from bench.train import trial

    model = trial.on_meta(workload)
    return workload.model() if model is None else model
