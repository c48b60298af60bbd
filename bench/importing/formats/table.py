"""The tables that scaling tutorials print: a line of headings above columns, separated by spaces or pipes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from bench.common.errors import InputError
from bench.common.nearest import did_you_mean
from bench.importing import parse_cells
from bench.importing.formats import csv_file
from bench.importing.measurement import Measurement, Problems
from bench.importing.parse_cells import LONGEST_LINE, SECONDS, BadValueError, Duration, Source

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
"""Headings by role, in lower case and without unit. `derived` columns are ignored: scalebench computes them itself."""
_ROLES = {name: role for role, names in _NAMES.items() for name in names}
_UNIT = re.compile(r"\s?[(\[]([^()\[\]]{1,20})[)\]]$")
_MOST_WORDS = 40
"""Most words of a chunk of headings; a longer chunk is prose."""
_LONGEST = 6
"""Most words of one heading, including its unit."""
_NEEDED = ("world_size", "time")
"""Roles without which a table cannot be imported."""

_SPACED = re.compile(r"\S+(?: \S+)*")
"""A cell, or several headings: words that are one space apart."""
_RULE = re.compile(r"[\s\-=_+|:─━═~]*")
_MISSING = ("", "-", "--", "---", "–", "—", "n/a", "na", "none", "null", "?")
_SIZES = re.compile(
    r"\b(?:single|one|multi|multiple)[-\s]*(?:gpus?|nodes?|ranks?|process(?:es)?)\b"
    r"|\b\d+\s*x?\s*(?:gpus?|nodes?|ranks?|process(?:es)?|workers?|tasks?)\b",
    re.IGNORECASE,
)
_LONGEST_CONFIGURATION = 200
"""Most characters of a configuration."""


@dataclass(frozen=True, kw_only=True)
class Heading:
    """One column."""

    text: str
    """As the file writes it."""
    role: str | None
    """A key of _NAMES; null for an unknown heading."""
    unit: str | None
    """A key of parse_cells.SECONDS for a time, `%` for a fraction, or null."""
    begin: int
    """Position of its first character in the line; 0 between pipes."""
    end: int


@dataclass(frozen=True, kw_only=True)
class _Line:
    number: int
    text: str


def matches(source: Source) -> bool:
    return any(_are_complete(_headings(line)) for line in source.lines)


def read(source: Source, case: str | None, default_case: str) -> list[Measurement]:
    """All rows. Their case is `case`, else made from each row's configuration or strategy, else `default_case`.

    Raises InputError with every problem."""
    lines = [_Line(number=number, text=text.expandtabs()) for number, text in enumerate(source.lines, 1)]
    place = next((place for place, line in enumerate(lines) if _are_complete(_headings(line.text))), None)
    if place is None:
        raise InputError(
            f"{source.name}: no line of headings with a size and a time, such as `GPUs  Time (s)`; known headings are "
            f"{_known_headings()}"
        )
    headings = _headings(lines[place].text)
    problems = Problems(file=source.name)
    _check_headings(headings, lines[place], problems)
    problems.raise_if_any()
    body, after = _body(lines[place + 1 :])
    rows = [row for line in body if (row := _row(line, headings, problems))]
    for line in after:
        if _are_complete(_headings(line.text)):
            problems.add(f"line {line.number}", "a second table begins here: one table per file")
    problems.raise_if_any()
    if not rows:
        raise InputError(f"{source.name}: line {lines[place].number}: headings with no row below them")
    for row in rows:
        row["case"] = (
            case or case_of(row.get("configuration")) or case_of(row.get("strategy")) or default_case
        )
    epochs = {
        name: _epochs([row for row in rows if row["case"] == name]) for name in {row["case"] for row in rows}
    }
    return [
        Measurement(
            place=f"line {row['line']}",
            case=row["case"],
            scaling="strong",
            world_size=row["world_size"],
            nodes=row.get("nodes") or 1,
            repeat=0,
            seconds=float(row["time"]),
            epochs=row.get("epochs") or epochs[row["case"]],
            val_loss=row.get("val_loss"),
            val_accuracy=row.get("val_accuracy"),
            job_id=row.get("job_id"),
            strategy=row.get("strategy"),
        )
        for row in rows
    ]


def _known_headings() -> str:
    """One heading of each role, for messages."""
    shown = ("Job ID", "Configuration", "Strategy", "GPUs", "Nodes", "Time (s)", "Time/Epoch (s)", "Epochs")
    return ", ".join((*shown, "Val Loss", "Val Acc"))


def _headings(line: str) -> list[Heading]:
    """Headings of a line, between pipes or two or more spaces apart; empty for a line that is too long."""
    if len(line) > LONGEST_LINE:
        return []
    if "|" in line:
        return [_heading(cell.strip("*`_ "), 0) for cell in _piped(line)]
    return [part for chunk in re.finditer(_SPACED, line) for part in _split(chunk[0], chunk.start())]


def _piped(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _heading(text: str, begin: int) -> Heading:
    unit = _UNIT.search(text)
    name = re.sub(r"\s+", " ", text[: unit.start()] if unit else text).lower()
    role, unit_name = _ROLES.get(name), unit[1].strip().lower() if unit else None
    if role == "derived":
        unit_name = None
    elif role in ("time", "epoch_time"):
        role = role if unit_name is None or unit_name in SECONDS else None
    elif unit_name is not None and not (role == "val_accuracy" and unit_name in ("%", "percent")):
        role = None
    return Heading(text=text, role=role, unit=unit_name, begin=begin, end=begin + len(text))


def _split(chunk: str, begin: int) -> list[Heading]:
    """Split words that are one space apart into known headings: `Time/Epoch (s) Val Loss` is two.

    Returns as few headings as possible; one unknown heading if the words cannot be split so."""
    words = [(word.start(), word.end()) for word in re.finditer(r"\S+", chunk)]
    if len(words) > _MOST_WORDS:
        return [Heading(text=chunk, role=None, unit=None, begin=begin, end=begin + len(chunk))]
    whole = _heading(chunk, begin)
    if whole.role is not None:
        return [whole]
    best: list[list[Heading] | None] = [None] * len(words) + [[]]  # from each word to the end
    for first in reversed(range(len(words))):
        for last in range(first, min(first + _LONGEST, len(words))):
            rest = best[last + 1]
            part = _heading(chunk[words[first][0] : words[last][1]], begin + words[first][0])
            found = best[first]
            if part.role and rest is not None and (found is None or len(rest) + 1 < len(found)):
                best[first] = [part, *rest]
    return best[0] or [whole]


def _are_complete(headings: list[Heading]) -> bool:
    """Whether these can be the headings of a table of timings, which needs the size and the time."""
    return {heading.role for heading in headings}.issuperset(_NEEDED)


def _check_headings(headings: list[Heading], line: _Line, problems: Problems) -> None:
    seen: set[str] = set()
    for heading in headings:
        if heading.role is None:
            hint = did_you_mean(heading.text, _known_headings().split(", "))
            problems.add(
                f"line {line.number}",
                f"unknown heading {heading.text!r}{hint}; known are {_known_headings()}",
            )
        elif heading.role in seen and heading.role != "derived":
            problems.add(f"line {line.number}", f"a second column for {heading.text!r}: keep one")
        seen.add(heading.role or "")


def _body(lines: list[_Line]) -> tuple[list[_Line], list[_Line]]:
    """The lines of the rows below the headings, and the lines after them. An empty line or code fence ends them."""
    rows: list[_Line] = []
    for place, line in enumerate(lines):
        if rows and (not line.text.strip() or line.text.startswith("```")):
            return rows, lines[place:]
        if line.text.strip() and not _RULE.fullmatch(line.text):
            rows.append(line)
    return rows, []


def _row(line: _Line, headings: list[Heading], problems: Problems) -> dict[str, Any] | None:
    """Values by role, and `line`, the line's number; null if there are problems, which are added to `problems`."""
    cells = _cells(line.text, headings)
    if cells is None:
        problems.add(
            f"line {line.number}",
            f"its cells do not match the {len(headings)} headings: separate columns by two or more spaces, write - "
            "where a value is not known, and leave an empty line below the table",
        )
        return None
    before = problems.count
    row: dict[str, Any] = {"line": line.number}
    for heading, cell in zip(headings, cells, strict=True):
        try:
            row[heading.role or ""] = _value(heading, cell.strip("*` "))
        except BadValueError as problem:
            problems.add(f"line {line.number}, column {heading.text}", str(problem))
    return row if problems.count == before else None


def _cells(text: str, headings: list[Heading]) -> list[str] | None:
    """One cell per heading. If a line has fewer cells, each belongs to the only heading above it, else null."""
    if "|" in text:
        cells = _piped(text)
        return cells if len(cells) == len(headings) else None
    found = [(part.start(), part.end(), part[0]) for part in re.finditer(_SPACED, text)]
    if len(found) == len(headings):
        return [cell for _, _, cell in found]
    by_heading = {heading.begin: "" for heading in headings}
    for begin, end, cell in found:
        above = [heading.begin for heading in headings if begin < heading.end and end > heading.begin]
        if len(above) != 1 or by_heading[above[0]]:
            return None
        by_heading[above[0]] = cell
    return list(by_heading.values())


def _value(heading: Heading, cell: str) -> Any:
    """The value of a cell; null if it is unknown or derived. Raises BadValueError."""
    role = heading.role
    if role == "derived":
        return None
    if cell.lower() in _MISSING:
        if role in _NEEDED:
            raise BadValueError("is unknown, and without it the row means nothing: remove the line")
        return None
    return _PARSERS[role or ""](cell, heading.unit)


_PARSERS: dict[str, Callable[[str, str | None], Any]] = {
    "time": parse_cells.duration,
    "epoch_time": parse_cells.duration,
    "world_size": lambda cell, _: parse_cells.whole(cell, 1, parse_cells.LARGEST_WORLD),
    "nodes": lambda cell, _: parse_cells.whole(cell, 1, parse_cells.LARGEST_WORLD),
    "epochs": lambda cell, _: parse_cells.whole(cell, 1, parse_cells.LARGEST_COUNT),
    "val_loss": lambda cell, _: parse_cells.finite(cell),
    "val_accuracy": lambda cell, unit: parse_cells.fraction(cell, per_cent=unit is not None),
    "job_id": lambda cell, _: csv_file.word(cell),
    "strategy": lambda cell, _: csv_file.word(cell),
    "configuration": lambda cell, _: _configuration(cell),
}


def _configuration(cell: str) -> str:
    if len(cell) > _LONGEST_CONFIGURATION:
        raise BadValueError(f"has {len(cell):,} characters: {_LONGEST_CONFIGURATION} at most")
    return cell


def _epochs(rows: list[dict[str, Any]]) -> int | None:
    """The number of epochs of a case, the same at every size, derived from its times; null if it is ambiguous."""
    pairs: Iterator[tuple[Duration, Duration | None]] = ((row["time"], row.get("epoch_time")) for row in rows)
    return parse_cells.common_epochs(
        [parse_cells.epoch_range(total, epoch) for total, epoch in pairs if epoch]
    )


def case_of(configuration: str | None) -> str | None:
    """The name of a case from a configuration without its sizes: `FSDP 8 GPUs (2 nodes)` is `fsdp`. Null for a
    configuration that is only a size, such as `Single GPU`."""
    rest = re.sub(r"[^a-z0-9]+", "_", _SIZES.sub(" ", configuration or "").lower()).strip("_")
    return rest[:64] or None
