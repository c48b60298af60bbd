"""A published scaling table: a TOML file with the source, and a curve for each line of the table.

title = "..."               source = "https://..."     date = 2024-12-26     licence = "BSD-3-Clause"
hardware = "..."            gpu = "NVIDIA H100 80GB"   gpus_per_node = 8
quantity = "tokens/s"       one of QUANTITIES          tokens_per_example = 2048, if examples are sequences

[[curve]]
name = "mpt-7b"             where = "its table"        model = "mpt-7b"      scaling = "weak"
figures = [[8, 85144]]      GPUs, and the figure as the source prints it
strategy, precision, batch_per_rank, global_batch and parameters are optional

A source gives one figure per size and no time, so nothing is known about repeats.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from bench.common.errors import InputError
from bench.common.nearest import did_you_mean
from bench.importing.formats.csv_file import case, word
from bench.importing.measurement import Measurement, Problems
from bench.importing.parse_cells import LARGEST_WORLD, BadValueError, Source
from bench.records.vocabulary import LARGEST_COUNT, LARGEST_SIZE, SCALINGS

Figure = Callable[[float, int, float | None], tuple[float, str]]
"""Takes the figure, the GPUs and the tokens of an example; gives throughput and its unit."""


def _tokens(figure: float, _gpus: int, tokens_per_example: float | None) -> tuple[float, str]:
    if tokens_per_example is None:
        return figure, "tokens/s"
    return figure / tokens_per_example, "examples/s"


QUANTITIES: dict[str, Figure] = {
    "examples/s": lambda figure, _gpus, _tokens_per_example: (figure, "examples/s"),
    "tokens/s": _tokens,
    "tokens/s per GPU": lambda figure, gpus, tokens: _tokens(figure * gpus, gpus, tokens),
    # The FLOPs of an example are the same at every size, so throughput is proportional to MFU × GPUs.
    "MFU (%)": lambda figure, gpus, _tokens_per_example: (figure / 100 * gpus, "GPU peaks"),
}
TAG = "published"
_MOST_CURVES, _MOST_SIZES = 200, 100
_LARGEST_FIGURE = 1e15
_TEXT = re.compile(r"[^\x00-\x1f\x7f]{1,300}")
_URL = re.compile(r"https://[\x21-\x7e]{4,300}")


@dataclass(frozen=True, kw_only=True)
class Table:
    """A published table, checked."""

    title: str
    date: date
    facts: dict[str, str]
    """Source, licence and hardware."""
    rows: tuple[Measurement, ...]
    """One for each figure."""


def matches(source: Source) -> bool:
    return source.name.endswith(".toml")


def read(source: Source) -> Table:
    """Raises InputError with every problem."""
    try:
        content = tomllib.loads(source.text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{source.name}: not TOML: {str(error)[:200]}") from error
    problems = Problems(file=source.name)
    curves = content.pop("curve", None)
    head = _checked(content, _HEAD, "the head", problems)
    if not isinstance(curves, list) or not 0 < len(curves) <= _MOST_CURVES:
        problems.add("the head", f"has no list of 1 to {_MOST_CURVES} [[curve]]")
        curves = []
    rows: list[Measurement] = []
    seen: set[str] = set()
    for number, curve in enumerate(curves, start=1):
        place = f"curve {number}"
        known = _checked(curve if isinstance(curve, dict) else {}, _CURVE, place, problems)
        if known.get("name") in seen:
            problems.add(place, f"name {known['name']!r} is already that of another curve")
        seen.add(str(known.get("name")))
        if problems.count == 0:
            rows += _rows(head, known)
    problems.raise_if_any()
    return Table(
        title=head["title"],
        date=head["date"],
        facts={key: head[key] for key in ("source", "licence", "hardware")},
        rows=tuple(rows),
    )


def _rows(head: dict[str, Any], curve: dict[str, Any]) -> Iterator[Measurement]:
    tokens = head.get("tokens_per_example")
    for gpus, figure in curve["figures"]:
        throughput, unit = QUANTITIES[head["quantity"]](figure, gpus, tokens)
        batch = curve.get("batch_per_rank")
        yield Measurement(
            place=f"{curve['where']}, {gpus:,} GPUs",
            case=curve["name"],
            scaling=curve["scaling"],
            world_size=gpus,
            nodes=-(-gpus // head["gpus_per_node"]),
            repeat=0,
            tag=TAG,
            throughput=throughput,
            throughput_unit=unit,
            strategy=curve.get("strategy"),
            workload=curve["model"],
            device_type="cuda",
            device_name=head["gpu"],
            precision=curve.get("precision"),
            batch_per_rank=batch,
            global_batch=curve.get("global_batch") or (batch and batch * gpus),
            parameters=curve.get("parameters"),
            tokens_per_example=tokens if unit == "examples/s" else None,
        )


def _checked(
    table: dict[str, Any],
    fields: dict[str, tuple[Callable[[Any], Any], bool]],
    place: str,
    problems: Problems,
) -> dict[str, Any]:
    """The values of the known keys that are right; the others are added to `problems`."""
    for key in table:
        if key not in fields:
            problems.add(place, f"unknown key {key[:60]!r}{did_you_mean(key, fields)}")
    known = {}
    for key, (check, is_required) in fields.items():
        if key not in table:
            if is_required:
                problems.add(place, f"has no {key}")
            continue
        try:
            known[key] = check(table[key])
        except BadValueError as problem:
            problems.add(place, f"{key}: {problem}")
    return known


def _text(value: Any) -> str:
    if isinstance(value, str) and _TEXT.fullmatch(value):
        return value
    raise BadValueError(f"{_shown(value)} is not a line of text of up to 300 characters")


def _url(value: Any) -> str:
    if isinstance(value, str) and _URL.fullmatch(value):
        return value
    raise BadValueError(f"{_shown(value)} is not an https:// address")


def _day(value: Any) -> date:
    if type(value) is not date:
        raise BadValueError(f"{_shown(value)} is not a day: write 2024-12-26, without quotes")
    if value > datetime.now(UTC).date():
        raise BadValueError(f"{value} is in the future")
    return value


def _whole(largest: int) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        if type(value) is int and 0 < value <= largest:
            return value
        raise BadValueError(f"{_shown(value)} is not a whole number from 1 to {largest:,}")

    return check


def _one_of(*choices: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if value in choices:
            return str(value)
        raise BadValueError(f"{_shown(value)} is not one of {', '.join(choices)}")

    return check


def _name(of_text: Callable[[str], str]) -> Callable[[Any], str]:
    return lambda value: of_text(_text(value))


def _figures(value: Any) -> list[tuple[int, float]]:
    """[[GPUs, figure], ...], each size once and in ascending order."""
    if not isinstance(value, list) or not 0 < len(value) <= _MOST_SIZES:
        raise BadValueError(f"{_shown(value)} is not a list of 1 to {_MOST_SIZES} pairs [GPUs, figure]")
    found: list[tuple[int, float]] = []
    for pair in value:
        if not isinstance(pair, list) or len(pair) != 2:
            raise BadValueError(f"{_shown(pair)} is not a pair [GPUs, figure]")
        gpus = _whole(LARGEST_WORLD)(pair[0])
        if type(pair[1]) not in (int, float) or not 0 < pair[1] <= _LARGEST_FIGURE:
            raise BadValueError(f"{_shown(pair[1])} is not a number above 0")
        if found and gpus <= found[-1][0]:
            raise BadValueError(f"{gpus:,} GPUs come after {found[-1][0]:,}: write each size once, in order")
        found.append((gpus, float(pair[1])))
    return found


def _shown(value: Any) -> str:
    return repr(value)[:60]


_HEAD: dict[str, tuple[Callable[[Any], Any], bool]] = {
    "title": (_text, True),
    "source": (_url, True),
    "date": (_day, True),
    "licence": (_text, True),
    "hardware": (_text, True),
    "gpu": (_text, True),
    "gpus_per_node": (_whole(1024), True),
    "quantity": (_one_of(*QUANTITIES), True),
    "tokens_per_example": (_whole(LARGEST_COUNT), False),
}
"""Key -> its check, and whether it is required."""
_CURVE: dict[str, tuple[Callable[[Any], Any], bool]] = {
    "name": (_name(case), True),
    "where": (_text, True),
    "model": (_name(word), True),
    "scaling": (_one_of(*SCALINGS), True),
    "figures": (_figures, True),
    "strategy": (_name(word), False),
    "precision": (_name(word), False),
    "batch_per_rank": (_whole(LARGEST_COUNT), False),
    "global_batch": (_whole(LARGEST_COUNT), False),
    "parameters": (_whole(LARGEST_SIZE), False),
}
