"""Report once, before anything is written, what would fail in every run: missing data, no CUDA, a custom class."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from bench import strategies
from bench.agent import timeout
from bench.agent.fork_server import WarmServer
from bench.common.errors import InputError
from bench.records.messages import Gpu
from bench.records.run_spec import PlannedRun, RunSpec

_NOTICE_S = 30.0
"""After each such time, half the limit at most, the user is told which call is waited for."""
_STACKS_S = 10.0
"""Time for a busy machine to write the stacks of a call that takes too long."""


def check(server: WarmServer, plan: tuple[PlannedRun, ...], gpus: Sequence[Gpu]) -> tuple[PlannedRun, ...]:
    """Try these GPUs, if the plan needs any, and prepare every distinct workload of the plan once. Returns the plan, in
    which runs that the installed torch cannot do have a reason to be skipped. Raises InputError with all problems. A
    call that takes longer than a run may is the last one of them."""
    jobs: dict[str, dict[str, Any]] = {}
    for run in plan:
        if run.skip_reason is None:
            job = question(run.spec)
            first = jobs.setdefault(_kind(job), job)
            first["timeout_s"] = max(first["timeout_s"], job["timeout_s"])
            if run.spec.case_name not in first["case_names"]:
                first["case_names"].append(run.spec.case_name)
    stacks = server.folder / "stacks"
    asked = json.dumps(
        {
            "jobs": list(jobs.values()),
            "gpus": [dataclasses.asdict(gpu) for gpu in gpus],
            "stacks": str(stacks),
        }
    )
    problems, skipped = json.loads(
        server.ask("bench.train.preflight", asked, receive=partial(_receive, stacks))
    )
    if problems:
        raise InputError("\n".join(problems))
    kinds = list(jobs)
    reasons = {kinds[place]: reason for place, reason in skipped}
    return tuple(
        replace(run, skip_reason=run.skip_reason or reasons.get(_kind(question(run.spec)))) for run in plan
    )


def _kind(job: dict[str, Any]) -> str:
    """Equal for jobs that are checked once: they differ in nothing else."""
    return json.dumps({**job, **dict.fromkeys(("case_names", "seed", "timeout_s"))}, sort_keys=True)


def check_commands(plan: tuple[PlannedRun, ...]) -> None:
    """The part of `check` that needs no server: whether the commands of the plan can start here. Raises InputError."""
    from bench.command.rank import obstacle

    found = {
        run.spec.case_name: reason
        for run in plan
        if run.spec.runs_a_command and (reason := obstacle(run.spec.workload_options))
    }
    if found:
        raise InputError("\n".join(f"case {name}: {reason}" for name, reason in found.items()))


def question(spec: RunSpec) -> dict[str, Any]:
    """The fields of a run that bench/train/preflight.py needs."""
    return {
        **spec.workload_with_data,
        "case_names": [spec.case_name],
        "strategy": spec.strategy,
        "strategy_options": spec.strategy_options,
        # a job of its own for each world size only if that matters
        "world_size": spec.world_size
        if strategies.needs_tp_plan(spec.strategy, spec.strategy_options)
        else None,
        "device_type": spec.device_type,
        "train": dataclasses.asdict(replace(spec.train, accumulate=1, micro_batch=None)),
        "wire": bool(spec.measure.wire) and spec.world_size > 1,
        "validate_every": spec.measure.validate_every,
        "timeout_s": spec.measure.timeout_s,
    }


def _receive(stacks: Path, answer: Connection, pid: int) -> bytes:
    """The answer of the process that checks. Tells the user which call takes long. Raises InputError for one that takes
    longer than a run may."""
    message = answer.recv_bytes()
    while isinstance(doing := json.loads(message), dict):  # an announced call
        limit_s, began_s = doing["timeout_s"], time.monotonic()
        waited_s = 0.0
        while not answer.poll(min(_NOTICE_S, limit_s / 2, limit_s - waited_s)):
            waited_s = time.monotonic() - began_s
            if waited_s >= limit_s:
                late = f"did not end within {limit_s:g} s (measure.timeout_s){_place(stacks, pid)}"
                remedy = doing.get("remedy", "make it faster, or raise measure.timeout_s")
                raise _with_earlier_problems(doing, f"{doing['call']} {late}: {remedy}")
            sys.stderr.write(
                f"bench: {doing['cases']}: still waiting for {doing['call']} ({waited_s:.0f} s of {limit_s:g} s)\n"
            )
        try:
            message = answer.recv_bytes()
        except EOFError:
            gone = f"the process of the check before the session ended during {doing['call']}"
            raise _with_earlier_problems(
                doing, f"{gone}: it ran out of memory, crashed, or called os._exit"
            ) from None
    return message


def _with_earlier_problems(doing: dict[str, Any], problem: str) -> InputError:
    """The error that names the problems of other cases, found before, and then this one."""
    return InputError("\n".join([*doing["problems"], f"{doing['cases']}: {problem}"]))


def _place(stacks: Path, pid: int) -> str:
    """`; it is at mine.py:12, in read`, of the process or of one that it started; empty if that is not known."""
    until_s = time.monotonic() + _STACKS_S
    while (place := timeout.in_user_code(stacks)) is None and time.monotonic() < until_s:
        with suppress(ProcessLookupError):  # it may have ended
            os.killpg(pid, signal.SIGUSR1)  # again: processes that write at once may mix their stacks
        time.sleep(0.5)
    place = place or timeout.innermost(stacks)
    return "" if place is None else f"; it is at {place}"
