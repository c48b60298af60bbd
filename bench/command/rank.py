"""A rank that runs the user's command: the environment that a launcher gives, and the probe."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import sys
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

import bench.probe
from bench.command import working_copy
from bench.command.options import filled_for, start_of
from bench.records.run_spec import RunSpec
from bench.train import selfcheck, transport
from bench.train.rank_job import NO_PROGRAM, RankJob

PROBE_FOLDER = Path(bench.probe.__file__).parent
_OF_A_LAUNCHER = ("TORCHELASTIC_", "OMPI_", "PMIX_", "PMI_", "MPI_LOCAL", "HYDI_")
"""Beginnings of variables by which a launcher describes the task of bench. In a rank they would mislead torch, which
would wait for torchrun's store, and any MPI library."""


def become(job: RankJob, spec: RunSpec) -> NoReturn:
    """Replace this process, which is a rank already, by the command. Exits with NO_PROGRAM if it cannot be started."""
    options = spec.workload_options
    command, added = filled_for(spec)
    environment = _environment(job, spec, os.environ, added)
    signal.signal(
        signal.SIGUSR1, signal.SIG_IGN
    )  # it would end the process, until the probe writes stacks on it
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    try:
        if options["isolate"]:
            os.chdir(Path(job.scratch, working_copy.FOLDER))
        elif options["cwd"] is not None:
            os.chdir(options["cwd"])
        program = _program_in_copy(command[0], environment, options["cwd"])
        # A Python finds its virtual environment by the first word, which may not lead to it from a copy.
        first = program if "/" in command[0] else command[0]
        os.execve(program, [first, *command[1:]], environment)  # noqa: S606 - the user has named it
    except OSError as error:
        sys.stderr.write(f"bench: {command[0]} cannot be started: {error.strerror}: {error.filename}\n")
        sys.stderr.flush()
        os._exit(NO_PROGRAM)


def _program_in_copy(name: str, environment: Mapping[str, str], cwd: str | None) -> str:
    """The program, from the current folder or else from `cwd`: a copy of that folder leaves out what git ignores, such
    as the virtual environment with the program."""
    try:
        return program_of(name, environment)
    except FileNotFoundError:
        return program_of(name, environment, cwd)


def obstacle(options: Mapping[str, Any]) -> str | None:
    """Why the command cannot be started here; null if nothing is known."""
    command, environment = options["command"], {**os.environ, **options["env"]}
    try:
        program = Path(program_of(command[0], environment, options["cwd"]))
    except FileNotFoundError:
        return _missing(command, options["cwd"])
    if not is_startable(program):
        return not_a_program(command, program)
    if Path(command[0]).name.startswith("python"):
        words = [word for word in command[1:2] if not word.startswith("-")]
        missing = [word for word in words if not (Path(options["cwd"] or ".") / word).exists()]
        if missing:
            return f"{missing[0]} is not a file in {options['cwd']}: correct the command, or give --cwd (workload.cwd)"
    return None


def _missing(command: Sequence[str], cwd: str | None) -> str:
    """Why the program of the command is not found, and what to do."""
    program = command[0]
    file = Path(cwd or ".").absolute() / program
    if file.is_dir():
        return f"{program} is a folder: give the program or the script in it"
    if file.is_file():
        return not_a_program(command, file)
    if "/" in program or file.suffix in (".py", ".sh"):
        return f"{program} is not a file in {file.parent}: correct the command, or give --cwd (workload.cwd)"
    return f"{program} is not on PATH: give its whole path, or correct the command"


def not_a_program(command: Sequence[str], file: Path, before: str = "") -> str:
    """What to give in place of a command whose first word is this file, which the kernel cannot start. `before`: the
    words before the command, as in `bench run --`."""
    program = command[0]
    if file.suffix in (".py", ".sh"):
        call = shlex.join((start_of(program), *command))
        return f"{program} is a script: give the command that starts it: {before}{call}"
    if os.access(file, os.X_OK):
        return f"{program} has no `#!` line: add one, or give the program that starts it"
    return f"{program} is not executable: run `chmod +x {shlex.quote(program)}`, or give the program that starts it"


def is_startable(file: Path) -> bool:
    """Whether the kernel can start the file: a program, or a script whose first line names one."""
    try:
        with file.open("rb") as opened:
            begin = opened.read(512)
    except OSError:  # a program may be executable and not readable
        return True
    return begin.startswith(b"#!") or b"\0" in begin


def program_of(name: str, environment: Mapping[str, str], cwd: str | None = None) -> str:
    """The path of the program, which may be relative to the folder `cwd`. `python` that is not on PATH is the Python
    that runs bench. Raises FileNotFoundError."""
    if "/" in name:
        name = str(Path(cwd or ".").absolute() / name)
    found = shutil.which(name, path=environment.get("PATH"))
    if found is None and name in ("python", "python3"):
        return sys.executable
    if found is None:
        raise FileNotFoundError(2, os.strerror(2), name)
    return found


def _environment(
    job: RankJob, spec: RunSpec, inherited: Mapping[str, str], added: Mapping[str, str]
) -> dict[str, str]:
    """The variables of torchrun and the probe's, over the caller's own."""
    meeting = urlsplit(job.rendezvous)
    environment = {
        name: value
        for name, value in inherited.items()
        if name not in job.variables_of_bench and not name.startswith(_OF_A_LAUNCHER)
    }
    environment["OMP_NUM_THREADS"] = str(spec.threads)  # the case's, also over an exported value
    environment.setdefault("PYTHONFAULTHANDLER", "1")
    # a device that only this agent sees has another number than the rank
    local_rank = job.local_rank if job.device_index is None else job.device_index
    environment |= {
        "RANK": str(job.rank),
        "WORLD_SIZE": str(spec.world_size),
        "LOCAL_RANK": str(local_rank),
        "LOCAL_WORLD_SIZE": str(spec.ranks_per_node),
        "GROUP_RANK": str(job.rank // spec.ranks_per_node),
        "GROUP_WORLD_SIZE": str(spec.nodes),
        "MASTER_ADDR": str(meeting.hostname),
        "MASTER_PORT": str(meeting.port),
        "TORCHELASTIC_RUN_ID": spec.run_id,
        "TORCHELASTIC_RESTART_COUNT": "0",
        "TORCHELASTIC_MAX_RESTARTS": "0",
        **added,
    }
    if spec.device_type == "cpu":
        # both: the command's own Python may have a torch for other GPUs than ours; HIP shows all for an empty list
        environment |= {"CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": "-1"}
    else:
        transport.request_nccl_log(environment, Path(job.scratch), job.rank)
    path = added.get("PYTHONPATH", inherited.get("PYTHONPATH"))
    environment["PYTHONPATH"] = os.pathsep.join([str(PROBE_FOLDER), *([path] if path else [])])
    variables = {name: zlib.crc32(os.fsencode(value)) for name, value in environment.items()}
    environment["BENCH_PROBE"] = json.dumps({**_probe_job(job, spec), "variables": variables})
    return environment


def _probe_job(job: RankJob, spec: RunSpec) -> dict[str, Any]:
    """The job of the probe; see bench/probe/bench_probe/record.py."""
    assert spec.measure.steps is not None
    return {
        "scratch": job.scratch,
        "rank": job.rank,
        "identity": job.identity(spec),
        "warmup": spec.measure.warmup,
        "steps": spec.measure.steps,
        "profiled": spec.measure.profiled,
        "trace": spec.trace,
        "pairs": selfcheck.pairs_of(spec, spec.measure.warmup + spec.measure.steps),
        "seed": spec.seed,
        "step_optimizer": spec.workload_options["step_optimizer"],
        "examples_per_step": spec.workload_options["examples_per_step"],
    }
