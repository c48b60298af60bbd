"""A CSV of whole trainings: `case,scaling,world_size,repeat,seconds,examples` and what else is known."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any

from bench.errors import InputError
from bench.importing import values
from bench.importing.found import Measurement, Problems
from bench.importing.text import LONGEST_LINE, Source
from bench.importing.values import BadValueError
from bench.suite.nearest import did_you_mean

REQUIRED = ("case", "scaling", "world_size", "repeat", "seconds", "examples")
OPTIONAL = ("nodes", "job_id", "strategy", "epochs", "val_loss", "val_accuracy", "tag")
COLUMNS = (*REQUIRED, *OPTIONAL)
_MAY_BE_EMPTY = ("examples", *OPTIONAL)
SCALINGS = ("none", "strong", "weak")
CASE = re.compile(r"[a-z0-9_-]{1,64}(~[A-Za-z0-9_.,=~+-]{1,80})?")
"""As suites name their cases; behind `~` the choice of a matrix."""
_WORD = re.compile(r"[\w.:/+~-][\w .:/+~-]{0,63}")


def looks_like_one(text: str) -> bool:
    """Whether the first line that says anything names columns of ours, whatever separates them."""
    first = text.lstrip().partition("\n")[0][:LONGEST_LINE]
    names = {name.strip().strip('"').lower() for name in re.split(r"[,;\t]", first)}
    return len(names & {*COLUMNS}) >= 2


def read(source: Source) -> list[Measurement]:
    """Every row. Raises InputError with all that is wrong, by line and column."""
    rows = _rows(source)
    _, header = next(rows)
    names = _columns(source, header)
    problems = Problems(file=source.name)
    found = [row for line, cells in rows if (row := _row(line, cells, names, problems))]
    problems.raise_if_any()
    if not found:
        raise InputError(f"{source.name}: has a header and no rows")
    return found


def _rows(source: Source) -> Iterator[tuple[int, list[str]]]:
    """The line on which a record begins, and its cells; empty lines are passed over."""
    reader = csv.reader(io.StringIO(source.text), strict=True, skipinitialspace=True)
    line = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield line, [cell.strip() for cell in cells]
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{source.name}: line {line}: not CSV: {error}") from error


def _columns(source: Source, header: list[str]) -> list[str]:
    if len(header) == 1 and (separator := re.search("[;\t]", header[0])):
        name = {";": "semicolons", "\t": "tabs"}[separator[0]]
        raise InputError(
            f"{source.name}: line 1: columns are separated by {name}: save it with commas between columns and points "
            "in numbers"
        )
    problems = Problems(file=source.name)
    for name in dict.fromkeys(header):
        if name not in COLUMNS:
            hint = did_you_mean(name.lower(), COLUMNS)
            problems.add("line 1", f"unknown column {name!r}{hint}; known are {', '.join(COLUMNS)}")
        elif header.count(name) > 1:
            problems.add("line 1", f"column {name} is there {header.count(name)} times: keep one")
    if missing := [name for name in REQUIRED if name not in header]:
        problems.add("line 1", f"no column {', '.join(missing)}: a header has {','.join(REQUIRED)}")
    problems.raise_if_any()
    return header


def _row(line: int, cells: list[str], names: list[str], problems: Problems) -> Measurement | None:
    """Null where something is wrong, which `problems` then knows."""
    if len(cells) != len(names):
        hint = ": a number with a comma must do without it" if len(cells) > len(names) else ""
        problems.add(f"line {line}", f"{len(cells)} cells, the header has {len(names)}{hint}")
        return None
    before = problems.count
    known: dict[str, Any] = {}
    for name, cell in zip(names, cells, strict=True):
        try:
            known[name] = _value(name, cell)
        except BadValueError as problem:
            problems.add(f"line {line}, column {name}", str(problem))
    if problems.count > before:
        return None
    given = {name: value for name, value in known.items() if value is not None and name in _FIELDS}
    return Measurement(place=f"line {line}", **given)


_FIELDS = {field.name for field in fields(Measurement)}


def _value(name: str, cell: str) -> Any:
    if cell:
        return _READ[name](cell)
    if name in _MAY_BE_EMPTY:
        return None
    raise BadValueError("is empty: every row needs one")


def case(text: str) -> str:
    """Raises BadValueError."""
    if CASE.fullmatch(text):
        return text
    raise BadValueError(f"{text[:60]!r} is no case name: a-z, 0-9, '_' and '-', 64 at most")


def word(text: str) -> str:
    """Of a strategy, a job or a tag. Raises BadValueError."""
    if _WORD.fullmatch(text):
        return text
    raise BadValueError(f"{text[:60]!r} is no name: letters, digits, '.', '_', '-', ':', '/', 64 at most")


def _scaling(text: str) -> str:
    if text in SCALINGS:
        return text
    hint = did_you_mean(text.lower(), SCALINGS)
    raise BadValueError(f"{text[:40]!r} is not {' or '.join(SCALINGS)}{hint}")


def _seconds(text: str) -> float:
    values.decimal(text)  # the heading says seconds: a unit here is a mistake
    return float(values.duration(text, "s"))


_READ: dict[str, Callable[[str], Any]] = {
    "case": case,
    "scaling": _scaling,
    "world_size": lambda text: values.whole(text, 1, values.LARGEST_WORLD),
    "nodes": lambda text: values.whole(text, 1, values.LARGEST_WORLD),
    "repeat": lambda text: values.whole(text, 0, values.LARGEST_REPEAT),
    "seconds": _seconds,
    "examples": lambda text: values.whole(text, 1, values.LARGEST_COUNT),
    "epochs": lambda text: values.whole(text, 1, values.LARGEST_COUNT),
    "val_loss": values.finite,
    "val_accuracy": values.fraction,
    "job_id": word,
    "strategy": word,
    "tag": word,
}
