"""The batch script of `bench batch`, for one image or for two in turn: fill in templates, with every value quoted."""

from __future__ import annotations

import re
import shlex
import string
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.common.errors import InputError
from bench.slurm import apptainer

DEFAULT_ROUNDS = 5
_EARLY_S = 120
"""How long before the time limit the session is asked to stop."""
_SHORTEST_S = 180
"""Shortest useful time limit: _EARLY_S, and the minute by which Slurm may signal early."""
_TIME = re.compile(
    r"(?P<minutes>\d+)(?::(?P<seconds>\d+))?"
    r"|(?P<hours>\d+):(?P<m>\d+):(?P<s>\d+)"
    r"|(?P<days>\d+)-(?P<day_hours>\d+)(?::(?P<dm>\d+)(?::(?P<ds>\d+))?)?"
)
_NAME = re.compile(r"[\w.,@+-]+", re.ASCII)
_OPTION = re.compile(r"-\w|--\w[\w-]*", re.ASCII)
_OURS = {
    "--nodes": "--nodes", "-N": "--nodes", "--gpus-per-node": "--gpus-per-node", "--time": "--time", "-t": "--time",
    "--cpus-per-task": "--cpus-per-task", "-c": "--cpus-per-task", "--account": "--account", "-A": "--account",
    "--partition": "--partition", "-p": "--partition",
}  # fmt: skip


class _Template(string.Template):
    delimiter = "%"  # a shell script has its own dollar signs


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Options of `bench batch`."""

    command: tuple[str, ...]
    """The call of `bench batch`, for a comment at the top."""
    suite_name: str
    suite: tuple[str, ...]
    """Arguments of `bench suite`, without --session and --results."""
    session: str
    results: str
    folders: tuple[str, ...]
    """Further folders to bind into the container."""
    device: str | None
    """--device; null leaves the choice to the suite."""
    images: tuple[str, ...]
    """One image, or two to compare: the baseline, then the candidate."""
    rounds: int
    """Sessions of each image, if there are two."""
    nodes: int
    gpus_per_node: int | None
    cpus_per_task: int | None
    time: str | None
    account: str | None
    partition: str | None
    sbatch: tuple[str, ...]


def script(batch: Batch) -> str:
    """The script's text. Raises InputError for a value that Slurm or Apptainer would refuse or misread."""
    images = [shlex.quote(apptainer.check_image(image)) for image in batch.images]
    values = _values(batch)
    step = _step(batch, values)
    values |= {
        "sbatch": "\n".join(f"#SBATCH {line}" for line in _head(batch)),
        "warning": "".join(map(_warning, dict.fromkeys(batch.images))),
    }
    if len(images) == 1:
        return _filled("batch", values | {"image": images[0], "step": step})
    sides = {"image_a": images[0], "image_b": images[1], "rounds": str(batch.rounds)}
    return _filled("batch_images", values | sides | {"step": textwrap.indent(step, "    ")})


def _values(batch: Batch) -> dict[str, str]:
    """Values for the templates, each quoted. Raises InputError for one that a script cannot have."""
    for word in batch.command:
        if not word.isprintable():
            raise InputError(
                f"{word!r} has a line break or another control character: a script cannot show it"
            )
    folders = [shlex.quote(apptainer.check_folder("folder", folder)) for folder in batch.folders]
    return {
        "command": shlex.join(batch.command),
        "results": shlex.quote(apptainer.check_folder("--results", batch.results)),
        "session": shlex.quote(batch.session),
        "binds": "".join(f' --bind "$(realpath -m -- {folder})"' for folder in folders),
        "nv": " --nv" if batch.gpus_per_node and batch.device != "cpu" else "",
        "suite": shlex.join(batch.suite),
    }


def _warning(image: str) -> str:
    """A comment line that says that the image is missing here; empty if it is not."""
    return (
        ""
        if apptainer.is_here(image)
        else f"# Where this was written there was no {image}: check the path.\n"
    )


def _filled(template: str, values: Mapping[str, str]) -> str:
    text = Path(__file__).with_name(f"{template}.sh").read_text(encoding="utf-8")
    return _Template(text).substitute(values)


def _step(batch: Batch, values: Mapping[str, str]) -> str:
    """The part that measures a session, without the last line's end."""
    several = len(batch.images) > 1
    own = {
        # srun does not inherit it from the job
        "srun": f" --cpus-per-task={batch.cpus_per_task}" if batch.cpus_per_task else "",
        "suite": values["suite"] + (' --tag "$name-$1"' if several else ""),
        "signalled": "signalled=1; stopped=1; " if several else "signalled=1; ",
        "accounted": "$SLURM_JOB_ID.$started" if several else "$SLURM_JOB_ID",
    }
    return _filled("batch_step", {**values, **own}).rstrip("\n")


def _head(batch: Batch) -> list[str]:
    """Options of sbatch. Those given with --sbatch come last, so that they override ours."""
    own = {
        "--job-name": batch.suite_name,
        "--nodes": batch.nodes,
        "--ntasks-per-node": 1,
        "--gpus-per-node": batch.gpus_per_node,
        "--cpus-per-task": batch.cpus_per_task,
        "--time": _checked_time(batch.time),
        "--account": _checked_name("--account", batch.account),
        "--partition": _checked_name("--partition", batch.partition),
        "--signal": f"B:USR1@{_EARLY_S}",
    }
    lines = [f"{name}={value}" for name, value in own.items() if value is not None]
    return lines + [_checked_option(line) for line in batch.sbatch]


def _checked_time(text: str | None) -> str | None:
    """`text` unchanged. Raises InputError if it is not a time in Slurm's notation, or too short for a clean end."""
    if text is None:
        return None
    match = _TIME.fullmatch(text)
    if match is None:
        raise InputError(
            f"--time {text}: Slurm writes times as minutes, hours:minutes:seconds or days-hours: 90, 1:30:00, 1-12"
        )
    if _seconds(match) <= _SHORTEST_S:
        raise InputError(
            f"--time {text}: the last 2 to 3 minutes are kept for a clean end: ask for more than {_SHORTEST_S // 60}"
        )
    return text


def _seconds(match: re.Match[str]) -> int:
    part = {name: int(value or 0) for name, value in match.groupdict().items()}
    hours = part["days"] * 24 + part["day_hours"] + part["hours"]
    minutes = part["minutes"] + part["m"] + part["dm"]
    return (hours * 60 + minutes) * 60 + part["seconds"] + part["s"] + part["ds"]


def _checked_name(option: str, text: str | None) -> str | None:
    if text is not None and not _NAME.fullmatch(text):
        raise InputError(f"{option} {text!r}: Slurm's names are letters, digits and . , @ + _ -")
    return text


def _is_one_word(line: str) -> bool:
    try:
        return len(shlex.split(line)) == 1
    except ValueError:  # a quote that is not closed
        return False


def _checked_option(line: str) -> str:
    """`line` unchanged. Raises InputError if it is not an option of sbatch, if the script has that option itself, or
    if it would break the signal before the time limit."""
    name, _, value = line.replace(" ", "=", 1).partition("=")
    if not _OPTION.fullmatch(name):
        raise InputError(f"--sbatch {line!r}: not an option of sbatch, as in --sbatch --constraint=h200")
    if "=" in line and not _is_one_word(line):
        raise InputError(
            f"--sbatch {line!r}: sbatch ends the value at the space: quote it, as in --comment='a b'"
        )
    if name in _OURS:
        raise InputError(f"--sbatch {line!r}: say it with {_OURS[name]}")
    if name == "--signal" and not value.startswith("B:USR1@"):
        raise InputError(
            f"--sbatch {line!r}: the script needs B:USR1@SECONDS, which signals the batch shell alone"
        )
    return line
