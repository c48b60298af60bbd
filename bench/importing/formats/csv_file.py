"""A CSV of whole trainings: columns `case,scaling,world_size,repeat,seconds,examples`, and optional ones."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from typing import Any

from bench.common.errors import InputError
from bench.common.nearest import did_you_mean
from bench.importing import parse_cells
from bench.importing.measurement import Measurement, Problems
from bench.importing.parse_cells import LONGEST_LINE, BadValueError, Source
from bench.records.vocabulary import SCALINGS

REQUIRED = ("case", "scaling", "world_size", "repeat", "seconds", "examples")
OPTIONAL = ("round", "position", "nodes", "job_id", "strategy", "epochs", "val_loss", "val_accuracy", "tag")
COLUMNS = (*REQUIRED, *OPTIONAL)
_MAY_BE_EMPTY = ("examples", *OPTIONAL)
CASE = re.compile(r"[a-z0-9_-]{1,64}(~[A-Za-z0-9_.,=~+-]{1,80})?")
"""Case names as in suites; after `~`, the choice of a matrix."""
_WORD = re.compile(r"[\w.:/+~-][\w .:/+~-]{0,63}")


def matches(source: Source) -> bool:
    """Whether the first non-empty line names two or more of our columns, with any separator."""
    first = source.text.lstrip().partition("\n")[0][:LONGEST_LINE]
    names = {name.strip().strip('"').lower() for name in re.split(r"[,;\t]", first)}
    return len(names & {*COLUMNS}) >= 2


def read(source: Source) -> list[Measurement]:
    """All rows. Raises InputError with every problem, by line and column."""
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
    """The first line and the cells of each record; empty lines are skipped."""
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
            problems.add("line 1", f"column {name} occurs {header.count(name)} times: keep one")
    if missing := [name for name in REQUIRED if name not in header]:
        problems.add("line 1", f"no column {', '.join(missing)}: a header has {','.join(REQUIRED)}")
    problems.raise_if_any()
    return header


def _row(line: int, cells: list[str], names: list[str], problems: Problems) -> Measurement | None:
    """The row; null if it has problems, which are added to `problems`."""
    if len(cells) != len(names):
        hint = ": write numbers without a comma" if len(cells) > len(names) else ""
        problems.add(f"line {line}", f"{len(cells)} cells, the header has {len(names)}{hint}")
        return None
    before = problems.count
    known: dict[str, Any] = {}
    for name, cell in zip(names, cells, strict=True):
        try:
            if cell:
                known[name] = _PARSERS[name](cell)
            elif name not in _MAY_BE_EMPTY:
                raise BadValueError("is empty: every row needs one")
        except BadValueError as problem:
            problems.add(f"line {line}, column {name}", str(problem))
    if problems.count > before:
        return None
    return Measurement(place=f"line {line}", **known)


def case(text: str) -> str:
    """The name of a case. Raises BadValueError."""
    if CASE.fullmatch(text):
        return text
    raise BadValueError(f"{text[:60]!r} is not a case name: a-z, 0-9, '_' and '-', 64 at most")


def word(text: str) -> str:
    """The name of a strategy, a job or a tag. Raises BadValueError."""
    if _WORD.fullmatch(text):
        return text
    raise BadValueError(f"{text[:60]!r} is not a name: letters, digits, '.', '_', '-', ':', '/', 64 at most")


def _scaling(text: str) -> str:
    if text in SCALINGS:
        return text
    hint = did_you_mean(text.lower(), SCALINGS)
    raise BadValueError(f"{text[:40]!r} is not {' or '.join(SCALINGS)}{hint}")


def _seconds(text: str) -> float:
    parse_cells.decimal(text)  # raises for a unit: the heading says seconds
    return float(parse_cells.duration(text, "s"))


_PARSERS: dict[str, Callable[[str], Any]] = {
    "case": case,
    "scaling": _scaling,
    "world_size": lambda text: parse_cells.whole(text, 1, parse_cells.LARGEST_WORLD),
    "nodes": lambda text: parse_cells.whole(text, 1, parse_cells.LARGEST_WORLD),
    "repeat": lambda text: parse_cells.whole(text, 0, parse_cells.LARGEST_REPEAT),
    "round": lambda text: parse_cells.whole(text, 0, parse_cells.LARGEST_REPEAT),
    "position": lambda text: parse_cells.whole(text, 0, parse_cells.LARGEST_COUNT),
    "seconds": _seconds,
    "examples": lambda text: parse_cells.whole(text, 1, parse_cells.LARGEST_COUNT),
    "epochs": lambda text: parse_cells.whole(text, 1, parse_cells.LARGEST_COUNT),
    "val_loss": parse_cells.finite,
    "val_accuracy": parse_cells.fraction,
    "job_id": word,
    "strategy": word,
    "tag": word,
}
