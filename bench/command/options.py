"""The options of the workload `command`: the program of the user's that each rank runs, and its placeholders."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Ge, Le, MaxLen, MinLen

from bench.command import launchers
from bench.common.errors import InputError
from bench.records.vocabulary import Pauses

if TYPE_CHECKING:
    from bench.records.run_spec import RunSpec

_VALUES = (
    "batch_per_rank",
    "global_batch",
    "world_size",
    "nodes",
    "ranks_per_node",
    "threads",
    "repeat",
    "seed",
)
"""Values of a run that its command may have."""
_PLACEHOLDER = re.compile(rf"\{{({'|'.join(_VALUES)})\}}")
OF_THE_BATCH = ("batch_per_rank", "global_batch")
"""Placeholders that need a batch in the case."""
_OWN_VARIABLES = (
    "BENCH_PROBE",
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "MASTER_ADDR",
    "MASTER_PORT",
)
_STARTS_RANKS = "bench starts the ranks: give the script itself, as in `python train.py`"
_STARTERS = {
    "torchx": _STARTS_RANKS,
    "horovodrun": _STARTS_RANKS,
    "mpirun": "start bench with it instead, as in `mpirun -n 2 bench run -- python train.py`",
    "mpiexec": "start bench with it instead, as in `mpiexec -n 2 bench run -- python train.py`",
    "srun": "start bench with it instead, as in `srun --ntasks-per-node 1 bench run -- python train.py`",
}
"""Programs that start the ranks of a training themselves, and what to do; bench/command/launchers.py has others."""


@dataclass(frozen=True, kw_only=True)
class CommandOptions:
    """The command, and what the probe cannot see."""

    command: Annotated[tuple[Annotated[str, MinLen(1), MaxLen(100_000)], ...], MinLen(1), MaxLen(10_000)]
    """The program and its arguments, as in `[python, train.py, --batch-size, "{batch_per_rank}"]`. Each rank runs it.
    Also `{global_batch}`, `{world_size}`, `{nodes}`, `{ranks_per_node}`, `{threads}`, `{repeat}` and `{seed}`."""
    cwd: str | None = None
    """Folder in which the command runs. null: the folder of the suite's file; `bench run`: the current folder."""
    env: dict[str, str] = field(default_factory=dict)
    """Environment variables to set."""
    isolate: bool = False
    """Run in a copy of that folder, which is deleted after the run: what a run writes there does not reach the next
    one. The copy has the files that git does not ignore; without a repository, all but virtual environments."""
    step_optimizer: str | None = None
    """Class, or number from 0, of the optimizer whose step ends a training step. null: the one that takes its first
    step last."""
    examples_per_step: Annotated[int, Ge(1), Le(10**9)] | None = None
    """Examples of a rank in each step, if the probe cannot count them."""
    pauses: Pauses | None = None
    """Whether time between steps counts as training. count: all of it; leave-out: none of it. null: only where bench
    does not know what the script did."""
    script: str | None = None
    """File whose content and repository are recorded. null: the first argument that is a file FILE.py or FILE.sh."""

    def __post_init__(self) -> None:
        if reason := _starter(self.command) or launchers.instead_of(self.command, self.cwd, self.env):
            raise InputError(reason)
        if self.script is None:
            object.__setattr__(self, "script", _script_file(self.command, self.cwd))
        for name in self.env:
            if reason := wrong_variable(name):
                raise InputError(f"env: {reason}")


def wrong_variable(name: str) -> str | None:
    """Why no variable of this name can be set; null if it can."""
    if name == "OMP_NUM_THREADS":
        return "the threads of a rank are a part of the case: use threads of a suite, not OMP_NUM_THREADS"
    if name in _OWN_VARIABLES:
        return f"{name!r} cannot be set, because bench sets it for each rank: remove it"
    if not name or "=" in name or "\0" in name:
        return f"{name!r} is not the name of a variable: write NAME=VALUE"
    return None


def _starter(command: tuple[str, ...]) -> str | None:
    """The remedy, if the command starts ranks itself; null if it does not."""
    program = Path(command[0]).name
    return f"{program} starts processes of its own. {_STARTERS[program]}" if program in _STARTERS else None


def placeholders(options: Mapping[str, Any]) -> set[str]:
    """The placeholders in the command and its variables."""
    return {
        name
        for text in (*options["command"], *options["env"].values())
        for name in _PLACEHOLDER.findall(text)
    }


def filled(text: str, values: Mapping[str, Any]) -> str:
    """The text with the values of its placeholders; other braces stay."""
    return _PLACEHOLDER.sub(lambda match: str(values[match[1]]), text)


def filled_for(spec: RunSpec) -> tuple[list[str], dict[str, str]]:
    """The words of the run's command, and the variables that it sets."""
    values = {name: getattr(spec, name) for name in _VALUES}
    options = spec.workload_options
    words = [filled(word, values) for word in options["command"]]
    return words, {name: filled(text, values) for name, text in options["env"].items()}


def _script_file(command: tuple[str, ...], cwd: str | None) -> str | None:
    """The script that the command names; null if no argument is an existing file."""
    for word in command:
        if word.endswith((".py", ".sh")) and (file := Path(cwd or ".") / word).is_file():
            return str(file.resolve())
    return None


def start_of(script: str) -> str:
    """The program that starts a script."""
    return "bash" if script.endswith(".sh") else "python"


def command_name(command: tuple[str, ...]) -> str:
    """A name for the command, as in `train` for `python train.py`, made of letters, digits, `_`, `.` and `-`."""
    scripts = [word for word in command if word.endswith((".py", ".sh"))]
    module = command[2] if command[1:2] == ("-m",) and len(command) > 2 else ""
    name = Path(scripts[0]).stem if scripts else module or Path(command[0]).name
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip(".-")[:60] or "command"
