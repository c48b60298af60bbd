"""The tables that scaling tutorials print: columns in lines, parted by spaces or pipes, under a line of headings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from bench.errors import InputError
from bench.importing import csv_file, values
from bench.importing.found import Measurement, Problems
from bench.importing.headings import Heading, between_pipes, in_columns, is_a_head, known_headings
from bench.importing.repeats import numbered
from bench.importing.text import LONGEST_LINE, Source
from bench.importing.values import BadValueError, Duration
from bench.suite.nearest import did_you_mean

_RULE = re.compile(r"[\s\-=_+|:─━═~]*")
_MISSING = ("", "-", "--", "---", "–", "—", "n/a", "na", "none", "null", "?")
_MARKS = "*` "
_SIZES = re.compile(
    r"\b(?:single|one|multi|multiple)[-\s]*(?:gpus?|nodes?|ranks?|process(?:es)?)\b"
    r"|\b\d+\s*x?\s*(?:gpus?|nodes?|ranks?|process(?:es)?|workers?|tasks?)\b",
    re.IGNORECASE,
)
_LONGEST_NAME = 200
"""Of a configuration."""
_NEEDED = ("world_size", "time")


@dataclass(frozen=True, kw_only=True)
class _Line:
    number: int
    text: str

    @property
    def is_rule(self) -> bool:
        return bool(_RULE.fullmatch(self.text))


def looks_like_one(source: Source) -> bool:
    return any(is_a_head(_headings(line)) for line in source.lines)


def read(source: Source, case: str | None, default_case: str) -> list[Measurement]:
    """Every row; `case` names the case of all of them, else their configuration does, else `default_case`. Raises
    InputError with all that is wrong."""
    lines = [_Line(number=number, text=text.expandtabs()) for number, text in enumerate(source.lines, 1)]
    place, headings = _head(source, lines)
    problems = Problems(file=source.name)
    _check_headings(headings, lines[place], problems)
    problems.raise_if_any()
    body, after = _body(lines[place + 1 :])
    rows = [row for line in body if (row := _row(line, headings, problems))]
    for line in after:
        if is_a_head(_headings(line.text)):
            problems.add(f"line {line.number}", "a second table begins here: one table per file")
    problems.raise_if_any()
    if not rows:
        raise InputError(f"{source.name}: line {lines[place].number}: headings with no row below them")
    return _measurements(rows, case, default_case)


def _headings(line: str) -> list[Heading]:
    """None of a line that is too long to be one of headings."""
    if len(line) > LONGEST_LINE:
        return []
    return between_pipes(_piped(line)) if "|" in line else in_columns(line)


def _piped(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _head(source: Source, lines: list[_Line]) -> tuple[int, list[Heading]]:
    for place, line in enumerate(lines):
        if is_a_head(found := _headings(line.text)):
            return place, found
    raise InputError(
        f"{source.name}: no line of headings with a size and a time, such as `GPUs  Time (s)`; known headings are "
        f"{known_headings()}"
    )


def _check_headings(headings: list[Heading], line: _Line, problems: Problems) -> None:
    seen: set[str] = set()
    for heading in headings:
        if heading.role is None:
            hint = did_you_mean(heading.text, known_headings().split(", "))
            problems.add(
                f"line {line.number}", f"unknown heading {heading.text!r}{hint}; known are {known_headings()}"
            )
        elif heading.role in seen and heading.role != "derived":
            problems.add(f"line {line.number}", f"a second column for {heading.text!r}: keep one")
        seen.add(heading.role or "")


def _body(lines: list[_Line]) -> tuple[list[_Line], list[_Line]]:
    """The rows below the headings, and what follows the empty line or the fence that ends them."""
    rows: list[_Line] = []
    for place, line in enumerate(lines):
        if rows and (not line.text.strip() or line.text.startswith("```")):
            return rows, lines[place:]
        if line.text.strip() and not line.is_rule:
            rows.append(line)
    return rows, []


def _row(line: _Line, headings: list[Heading], problems: Problems) -> dict[str, Any] | None:
    """Role -> value, and `line`; null where something is wrong, which `problems` then knows."""
    cells = _cells(line.text, headings)
    if cells is None:
        problems.add(
            f"line {line.number}",
            f"its cells do not stand under the {len(headings)} headings: part columns by two spaces or more, write - "
            "where a value is not known, and leave an empty line below the table",
        )
        return None
    before = problems.count
    row: dict[str, Any] = {"line": line.number}
    for heading, cell in zip(headings, cells, strict=True):
        try:
            row[heading.role or ""] = _value(heading, cell.strip(_MARKS))
        except BadValueError as problem:
            problems.add(f"line {line.number}, column {heading.text}", str(problem))
    return row if problems.count == before else None


def _cells(text: str, headings: list[Heading]) -> list[str] | None:
    """As many as there are headings: by their number, else each under the one heading it stands under."""
    if "|" in text:
        cells = _piped(text)
        return cells if len(cells) == len(headings) else None
    found = [(part.start(), part.end(), part[0]) for part in re.finditer(r"\S+(?: \S+)*", text)]
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
    """Null where it is not known. Raises BadValueError."""
    role = heading.role
    if role == "derived":
        return None
    if cell.lower() in _MISSING:
        if role in _NEEDED:
            raise BadValueError("is not known: without it the row says nothing, so take the line out")
        return None
    return _READ[role or ""](cell, heading.unit)


_READ: dict[str, Callable[[str, str | None], Any]] = {
    "time": values.duration,
    "epoch_time": values.duration,
    "world_size": lambda cell, _: values.whole(cell, 1, values.LARGEST_WORLD),
    "nodes": lambda cell, _: values.whole(cell, 1, values.LARGEST_WORLD),
    "epochs": lambda cell, _: values.whole(cell, 1, values.LARGEST_COUNT),
    "val_loss": lambda cell, _: values.finite(cell),
    "val_accuracy": lambda cell, unit: values.fraction(cell, per_cent=unit is not None),
    "job_id": lambda cell, _: csv_file.word(cell),
    "strategy": lambda cell, _: csv_file.word(cell),
    "configuration": lambda cell, _: _configuration(cell),
}


def _configuration(cell: str) -> str:
    if len(cell) > _LONGEST_NAME:
        raise BadValueError(f"has {len(cell):,} characters: {_LONGEST_NAME} at most")
    return cell


def _measurements(rows: list[dict[str, Any]], case: str | None, default_case: str) -> list[Measurement]:
    for row in rows:
        row["case"] = (
            case or case_of(row.get("configuration")) or case_of(row.get("strategy")) or default_case
        )
    epochs = {
        name: _epochs([row for row in rows if row["case"] == name]) for name in {r["case"] for r in rows}
    }
    return numbered(_measurement(row, epochs[row["case"]]) for row in rows)


def _measurement(row: dict[str, Any], epochs: int | None) -> Measurement:
    return Measurement(
        place=f"line {row['line']}",
        case=row["case"],
        scaling="strong",
        world_size=row["world_size"],
        nodes=row.get("nodes") or 1,
        repeat=0,
        seconds=float(row["time"]),
        epochs=row.get("epochs") or epochs,
        val_loss=row.get("val_loss"),
        val_accuracy=row.get("val_accuracy"),
        job_id=row.get("job_id"),
        strategy=row.get("strategy"),
    )


def _epochs(rows: list[dict[str, Any]]) -> int | None:
    """Of a case, from its times: a training has the same number at every size."""
    pairs: Iterator[tuple[Duration, Duration | None]] = ((row["time"], row.get("epoch_time")) for row in rows)
    return values.common_epochs([values.epoch_range(total, epoch) for total, epoch in pairs if epoch])


def case_of(configuration: str | None) -> str | None:
    """What a configuration says beside its sizes, as a case's name: `FSDP 8 GPUs (2 nodes)` is `fsdp`, and
    `Single GPU` nothing, because a size is no case."""
    rest = re.sub(r"[^a-z0-9]+", "_", _SIZES.sub(" ", configuration or "").lower()).strip("_")
    return rest[:64] or None
