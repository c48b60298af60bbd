"""A shadow of a run: the messages and the memory of its ranks, found by a separate process without other ranks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench import strategies
from bench.command.options import filled_for
from bench.common import safe_path
from bench.common.custom_file import label
from bench.common.errors import InputError
from bench.common.process import kill_session
from bench.records.run_spec import RunSpec
from bench.shadow.program import how_ended, took_too_long
from bench.shadow.records import Shadow

_SITE = Path(__file__).parent / "site"
"""The folder whose `sitecustomize` makes a Python program a shadow."""
_NO_PORT = "the shadow did not load"
"""A port that ends a command without a shadow, which would wait for other ranks for ever."""
TIMEOUT_S = 600.0


def shadow(spec: RunSpec, rank: int = 0, *, timeout_s: float = TIMEOUT_S) -> Shadow:
    """The messages of the rank in a step, and its memory at the peak.

    Raises InputError if the run cannot be shadowed: the message says why, and the remedy."""
    (found,) = shadows([(spec, rank)], timeout_s=timeout_s)
    if isinstance(found, InputError):
        raise found
    return found


def shadows(
    asked: Sequence[tuple[RunSpec, int]], *, counts_flops: bool = False, timeout_s: float = TIMEOUT_S
) -> list[Shadow | InputError]:
    """The shadow of each run and rank, or why there is none. `counts_flops`: also find `flops_per_example`, if that can
    be counted. `timeout_s`: for each.

    Raises InputError if none can be made."""
    found: dict[int, Shadow | InputError] = {}
    questions: dict[int, dict[str, Any]] = {}
    for number, (spec, rank) in enumerate(asked):
        try:
            if spec.runs_a_command:
                found[number] = _of_command(spec, timeout_s)
            else:
                _refuse(spec)
                questions[number] = {"spec": spec.to_json(), "rank": rank}
        except InputError as error:
            found[number] = error
    models = {_model(asked[number][0]): {**one, "rank": None} for number, one in questions.items()}
    more = models if counts_flops else {}
    answers = _ask([*questions.values(), *more.values()], timeout_s) if questions else []
    flops = dict(zip(more, answers[len(questions) :], strict=True))
    for number, answer in zip(questions, answers, strict=False):
        spec, _ = asked[number]
        try:
            counted = flops.get(_model(spec), {})
            found[number] = replace(
                _shadow(answer, spec.case_name),
                flops_per_example=counted.get("flops_per_example"),
                flops_problem=counted.get("problem"),
            )
        except InputError as error:
            found[number] = error
    return [found[number] for number in range(len(asked))]


def _model(spec: RunSpec) -> str:
    """Equal for runs whose FLOPs per example are the same."""
    return json.dumps({**spec.workload_with_data, "seed": 0, "micro_batch": spec.micro_batch}, sort_keys=True)


def _of_command(spec: RunSpec, timeout_s: float) -> Shadow:
    words, variables = filled_for(spec)
    return shadow_of_command(
        words,
        world_size=spec.world_size,
        ranks_per_node=spec.ranks_per_node,
        variables=variables,
        cwd=spec.workload_options["cwd"],
        timeout_s=timeout_s,
    )


def _refuse(spec: RunSpec) -> None:
    """Raises InputError if no rank of the run can have a shadow."""
    name = spec.case_name
    if not strategies.load(spec.strategy).trains:
        raise InputError(f"{name}: {label(spec.strategy)} trains no model: shadow a case that trains one")


def _ask(questions: Sequence[Mapping[str, Any]], timeout_s: float) -> list[dict[str, Any]]:
    """The program's answers, in the order of the questions."""
    program = safe_path.command(
        "bench.shadow.program", str(os.getpid()), str(timeout_s), options=("-W", "ignore")
    )
    lines = "".join(f"{json.dumps(one)}\n" for one in questions)
    with tempfile.TemporaryDirectory() as scratch:  # a shadow that is killed cannot remove its own
        environment = {**safe_path.environment(), "TMPDIR": scratch}
        done = _run(program, environment, "shadows", None, question=lines)
    answers = {answer.pop("question"): answer for answer in map(json.loads, done.stdout.splitlines())}
    failed = {"problem": f"the process of the shadows failed: {_last_line(done)}; see `bench doctor`"}
    return [answers.get(number, failed) for number in range(len(questions))]


def shadow_of_command(
    words: Sequence[str],
    *,
    world_size: int,
    ranks_per_node: int,
    variables: Mapping[str, str] | None = None,
    cwd: str | None = None,
    timeout_s: float = TIMEOUT_S,
) -> Shadow:
    """The same of rank 0 of the command `words`, started in the folder `cwd`, by default the current one, with these
    environment variables.

    Raises InputError if the command cannot be shadowed."""
    name = " ".join(words)
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder, "answer.json")
        job = {
            "world_size": world_size,
            "ranks_per_node": ranks_per_node,
            "answer": str(answer),
            "asker": os.getpid(),
            "python": sys.executable,
        }
        try:
            done = _run(words, _environment(job, variables or {}), name, timeout_s, cwd=cwd)
        except subprocess.TimeoutExpired:
            problem = took_too_long(timeout_s) if answer.exists() else _not_begun(f"after {timeout_s:g} s")
            raise InputError(f"{name}: {problem}") from None
        if not answer.exists():
            ended = f"when it ended with {how_ended(done.returncode)}{_why(done)}"
            raise InputError(f"{name}: {_not_begun(ended)}")
        said = json.loads(answer.read_text())
        if said.keys() == {"steps"}:
            raise InputError(f"{name}: {_too_few_steps(done, said['steps'])}")
        return _shadow(said, name)


def _not_begun(when: str) -> str:
    """The problem of a command in which no Python has run our `sitecustomize`."""
    return (
        f"no Python with torch had begun a shadow {when}: start the script with a Python that has torch, without its "
        f"options -E, -I and -S, and with the PYTHONPATH that bench sets; bench's own Python is {sys.executable}"
    )


def _why(done: subprocess.CompletedProcess[str]) -> str:
    return f": {_last_line(done)}" if done.returncode and done.stderr.strip() else ""


def _too_few_steps(done: subprocess.CompletedProcess[str], steps: int) -> str:
    """The problem of a command that ended before its third step."""
    why = _why(done)
    ended = f"ended with {how_ended(done.returncode)}"
    if steps:
        counted = f"{steps} step{'s' * (steps > 1)} of an optimizer"
        return (
            f"it {ended} after {counted}, and a shadow needs three{why}: give each rank more data, or choose fewer "
            "ranks"
        )
    if any(Path(word).name == "torchrun" or word.startswith("torch.distributed.") for word in done.args):
        remedy = "start the script by its own Python, without torchrun"
    elif done.returncode:
        remedy = "run the command alone to see why"
    else:
        remedy = "a shadow needs a script whose first process calls `step()` of an optimizer of torch"
    return f"it {ended} before the first step of an optimizer{why}: {remedy}"


def _environment(job: Mapping[str, Any], variables: Mapping[str, str]) -> dict[str, str]:
    """The variables of torchrun for rank 0, over the case's `variables` and the caller's own."""
    path = [str(_SITE), variables.get("PYTHONPATH", os.environ.get("PYTHONPATH", ""))]
    return {
        **os.environ,
        **variables,
        "RANK": "0",
        "LOCAL_RANK": "0",
        "GROUP_RANK": "0",
        "WORLD_SIZE": str(job["world_size"]),
        "LOCAL_WORLD_SIZE": str(job["ranks_per_node"]),
        "GROUP_WORLD_SIZE": str(-(-job["world_size"] // job["ranks_per_node"])),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": _NO_PORT,  # the shadow changes it
        "CUDA_VISIBLE_DEVICES": "",
        "HIP_VISIBLE_DEVICES": "-1",
        "PYTHONPATH": os.pathsep.join(filter(None, path)),
        "BENCH_SHADOW": json.dumps(job),
    }


def _run(
    words: Sequence[str],
    environment: Mapping[str, str],
    name: str,
    timeout_s: float | None,
    *,
    question: str = "",
    cwd: str | None = None,
) -> subprocess.CompletedProcess[str]:
    with ExitStack() as files:
        # not pipes: a process that a command has started may keep those open after its end
        given, printed, told = (
            files.enter_context(tempfile.TemporaryFile("w+", errors="replace")) for _ in range(3)
        )
        given.write(question)
        given.seek(0)
        try:
            process = subprocess.Popen(
                words,
                env=environment,
                cwd=cwd,
                stdin=given,
                stdout=printed,
                stderr=told,
                start_new_session=True,
            )
        except OSError as error:
            raise InputError(f"{name}: {_not_started(words[0], error)}") from None
        try:
            code = process.wait(timeout_s)
        finally:
            kill_session(process.pid)  # a shadow, and what its model has started, lead groups of their own
            process.wait()
        printed.seek(0)
        told.seek(0)
        return subprocess.CompletedProcess(words, code, printed.read(), told.read())


def _not_started(program: str, error: OSError) -> str:
    """Why the program does not start, and the remedy."""
    if isinstance(error, FileNotFoundError):
        if "/" not in program:
            return f"{program} is not on PATH: give its whole path, or correct the command"
        if not Path(program).exists():
            return f"{program} does not exist: correct the path"
    return f"{program} cannot be started ({error.strerror}): write `python {program}`"


def _last_line(done: subprocess.CompletedProcess[str]) -> str:
    return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]


def _shadow(answer: Mapping[str, Any], name: str) -> Shadow:
    if "problem" in answer:
        raise InputError(f"{name}: {answer['problem']}")
    return Shadow.from_json(dict(answer))
