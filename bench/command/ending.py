"""Why a user's command ended before its last step, in the words of its log."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from bench.command.rank import program_of
from bench.measure import recorder
from bench.probe.bench_probe.step_file import LEAST_STEPS
from bench.records.run_spec import RunSpec
from bench.train.rank_job import NO_PROGRAM, outcome_file, step_file

USAGE = 2
"""Exit code of a command that does not understand its own options, by argparse, click and most others."""
_TAIL_BYTES = 1 << 16
"""More than the stacks that Python writes when a process aborts."""
_SHOWN_LINES = 8
_OF_THE_PROFILER = re.compile(r"(STAGE|INFO|WARNING|ERROR):\d{4}-\d\d-\d\d .*\.cpp:\d+\]")
"""Lines that torch's profiler writes, which the probe has started."""
_LONGEST_LINE = 200
_NO_TORCH = "No module named 'torch'"
_OUT_OF_MEMORY = re.compile(r"OutOfMemoryError|CUDA out of memory|^MemoryError", re.MULTILINE)
_ERROR = re.compile(
    r"^(?:\[rank\d+\]: ?)?([A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit)\b.*)$", re.MULTILINE
)
"""The last line of a traceback; torch puts the rank before it."""
_ERROR_OF_USAGE = re.compile(r"^(?:\S.*: error: |Error: ).+$", re.MULTILINE)
"""The line in which argparse or click says what is wrong with the options."""


def explained(run: RunSpec, rank: int, exit_code: int, scratch: Path, log: Path) -> dict[str, Any]:
    """The outcome of a rank whose command has ended too early: `error`, and `oom`. Empty if a signal ended it."""
    text = tail(log)
    if has_several_processes(rank, scratch):
        return {"error": _several(rank, scratch), "oom": False}
    errors = (exit_code == USAGE and _ERROR_OF_USAGE.findall(text)) or _ERROR.findall(text)
    if exit_code < 0:
        return {}
    if exit_code != 0:
        what = "cannot be started" if exit_code == NO_PROGRAM else f"ended with exit code {exit_code}"
        first = f"the command {what}" + (f": {errors[-1][:_LONGEST_LINE]}" if errors else "")
        if errors and errors[-1].endswith(_NO_TORCH):
            first += _other_python(run)
    else:
        first = _ended_well(run, rank, scratch)
    # a progress bar returns to the beginning of its line: the last state is the one that a terminal shows
    shown = [line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n")]
    lines = [line for line in shown if line.strip() and not _OF_THE_PROFILER.match(line)]
    last = [line[:_LONGEST_LINE] for line in lines[-_SHOWN_LINES:]]
    return {
        "error": "\n".join([first, *(f"  {line}" for line in last)]),
        "oom": exit_code != 0 and bool(_OUT_OF_MEMORY.search(text)),
    }


def _several(rank: int, scratch: Path) -> str:
    """The error of a rank in which several processes take steps, with the place that starts them, if it is known."""
    file = scratch / f"spawned.rank{rank}"
    place = file.read_text() if file.exists() else ""
    if place:
        return (
            f"several processes of one rank take steps: {place} starts them with torch.multiprocessing, and bench "
            "starts the ranks: call the worker function there once instead, with the rank from "
            'int(os.environ["RANK"]) and the number of ranks from int(os.environ["WORLD_SIZE"])'
        )
    return (
        "several processes of one rank take steps: the command starts ranks itself; make it train in the process that "
        "bench starts, which has RANK and WORLD_SIZE"
    )


def _other_python(run: RunSpec) -> str:
    command, added = run.workload_options["command"], run.workload_options["env"]
    try:
        program = program_of(command[0], {**os.environ, **added}, run.workload_options["cwd"])
    except FileNotFoundError:
        return ""
    return (
        f"\nthe Python of the command, {program}, has no torch: put the folder of the one that has it first on PATH, "
        "or give its whole path"
    )


def _ended_well(run: RunSpec, rank: int, scratch: Path) -> str:
    wanted = run.measure.warmup + (run.measure.steps or 0)
    needed = run.measure.warmup + min(LEAST_STEPS, run.measure.steps or 0)
    try:
        seen = json.loads(outcome_file(scratch, rank).read_text())["command"]
    except FileNotFoundError:
        own_error = scratch / f"probe_error.rank{rank}"
        if own_error.exists():
            return (
                "the command ended without an error, and nothing was recorded, because the recorder could not begin; "
                f"report this: {own_error.read_text().strip().splitlines()[-1]}"
            )
        last = recorder.peek(step_file(scratch, rank))
        if last is not None:
            return (
                f"the command ended at once after {last.rows} of {wanted} recorded steps, perhaps with os._exit: ask "
                "for fewer (--steps, or measure.steps of a suite), or let the script end by itself"
            )
        return (
            "the command ended without an error, but never imported torch: give a Python script that trains with "
            "torch, started without -E, -I and -S"
        )
    if not (seen["optimizers"] or seen["has_own_steps"]):
        return (
            "the command ended without an error and without a step of a torch optimizer: if it continues from a "
            f"checkpoint, {_checkpoint(run)}; if it trains without such an optimizer, mark its steps with "
            "bench_probe.step()"
        )
    named = run.workload_options.get("step_optimizer")
    if named is not None and not seen["steps"]:
        names = ", ".join(f"{number} {name}" for number, name in enumerate(seen["optimizers"]))
        return (
            f"the command ended without an error and without a step of the optimizer {named}: its optimizers are "
            f"{names} (--step-optimizer, or step_optimizer of a suite)"
        )
    return (
        f"the command ended without an error after {seen['steps']} of {wanted} recorded steps (its first step is not "
        f"recorded), and {needed} are needed: ask for a shorter warm-up (--warmup, or measure.warmup of a suite), let "
        f"the script train for longer or, if it continues from a checkpoint, {_checkpoint(run)}"
    )


def _checkpoint(run: RunSpec) -> str:
    """What to do about a checkpoint that an earlier run wrote."""
    if run.workload_options.get("isolate"):
        return (
            "remove it, and make the script write it below its working folder: --isolate copies nothing else"
        )
    return "remove it and use --isolate (workload.isolate of a suite)"


def has_several_processes(rank: int, scratch: Path) -> bool:
    """Whether more than one process of the rank has taken steps."""
    return (scratch / f"processes.rank{rank}").exists()


def tail(log: Path) -> str:
    """The end of a log."""
    with log.open("rb") as file:
        file.seek(0, 2)
        file.seek(max(0, file.tell() - _TAIL_BYTES))
        return file.read().decode(errors="replace")
