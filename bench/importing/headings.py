"""The headings of a table as people print them: what a column holds, and in which unit."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bench.importing.values import SECONDS

_NAMES = {
    "job_id": ("job id", "jobid", "job", "slurm job id", "slurm job"),
    "configuration": ("configuration", "config", "case", "setup", "run", "name", "experiment"),
    "strategy": ("strategy", "method"),
    "world_size": (
        "gpus", "# gpus", "#gpus", "num gpus", "n gpus", "number of gpus", "total gpus", "ranks", "num ranks",
        "world size", "world_size", "processes", "workers", "devices",
    ),
    "nodes": ("nodes", "# nodes", "#nodes", "num nodes", "n nodes", "number of nodes"),
    "time": (
        "time", "total time", "training time", "total training time", "wall time", "walltime", "runtime", "run time",
        "elapsed", "elapsed time", "duration",
    ),
    "epoch_time": ("time/epoch", "time / epoch", "time per epoch", "epoch time", "epoch", "avg epoch time"),
    "epochs": ("epochs", "num epochs"),
    "val_loss": ("val loss", "val_loss", "validation loss", "best val loss", "best validation loss"),
    "val_accuracy": (
        "val acc", "val_acc", "val accuracy", "val_accuracy", "validation accuracy", "best val acc", "accuracy",
        "best validation accuracy",
    ),
    "derived": (
        "speedup", "speed-up", "efficiency", "parallel efficiency", "scaling efficiency", "ideal", "ideal speedup",
        "throughput",
    ),
}  # fmt: skip
"""Role -> headings, without unit, in small letters. `derived` ones are passed over: they are computed anew."""
_ROLES = {name: role for role, names in _NAMES.items() for name in names}
_UNIT = re.compile(r"\s?[(\[]([^()\[\]]{1,20})[)\]]$")
_PLAIN_UNIT = {"time": "s", "epoch_time": "s"}
_MOST_WORDS = 40
"""Of a line of headings; a longer line is prose."""
_LONGEST = 6
"""Words of one heading, its unit included."""
_MARKS = "*`_ "
"""Of Markdown around a cell."""


@dataclass(frozen=True, kw_only=True)
class Heading:
    """One column."""

    text: str
    """As it is written."""
    role: str | None
    """Null for a heading that is not known."""
    unit: str | None
    """Of a time, as SECONDS knows it, or `%`."""
    begin: int
    """Character at which it begins in its line."""
    end: int


def known_headings() -> str:
    """One of each role, for messages."""
    shown = ("Job ID", "Configuration", "Strategy", "GPUs", "Nodes", "Time (s)", "Time/Epoch (s)", "Epochs")
    return ", ".join((*shown, "Val Loss", "Val Acc"))


def in_columns(line: str) -> list[Heading]:
    """Of a line whose columns two or more spaces part; known headings may stand one space apart."""
    return [part for chunk in re.finditer(r"\S+(?: \S+)*", line) for part in _tiled(chunk[0], chunk.start())]


def between_pipes(cells: list[str]) -> list[Heading]:
    return [heading(cell.strip(_MARKS), 0) for cell in cells]


def heading(text: str, begin: int) -> Heading:
    unit = _UNIT.search(text)
    name = re.sub(r"\s+", " ", text[: unit.start()] if unit else text).lower()
    role, said = _ROLES.get(name), unit[1].strip().lower() if unit else None
    if role == "derived":
        said = None
    elif role in _PLAIN_UNIT:
        role = role if said is None or said in SECONDS else None
    elif said is not None and not (role == "val_accuracy" and said in ("%", "percent")):
        role = None
    return Heading(text=text, role=role, unit=said, begin=begin, end=begin + len(text))


def _tiled(chunk: str, begin: int) -> list[Heading]:
    """`Time/Epoch (s) Val Loss` is two headings: as many as it takes to know every part, as few as possible; the whole
    where that cannot be done."""
    words = [(word.start(), word.end()) for word in re.finditer(r"\S+", chunk)]
    whole = heading(chunk, begin) if len(words) <= _MOST_WORDS else _unknown(chunk, begin)
    if whole.role is not None or len(words) > _MOST_WORDS:
        return [whole]
    best: list[list[Heading] | None] = [None] * len(words) + [[]]  # from a word on to the end
    for first in reversed(range(len(words))):
        for last in range(first, min(first + _LONGEST, len(words))):
            rest = best[last + 1]
            part = heading(chunk[words[first][0] : words[last][1]], begin + words[first][0])
            found = best[first]
            if part.role and rest is not None and (found is None or len(rest) + 1 < len(found)):
                best[first] = [part, *rest]
    return best[0] or [whole]


def _unknown(text: str, begin: int) -> Heading:
    return Heading(text=text, role=None, unit=None, begin=begin, end=begin + len(text))


def is_a_head(headings: list[Heading]) -> bool:
    """A table of timings says at least the size and the time."""
    roles = {heading.role for heading in headings}
    return {"world_size", "time"} <= roles
