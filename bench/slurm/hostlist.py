"""Expand Slurm's compact lists of node names. A container has no scontrol, which could do the same."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from bench.common.errors import InputError

_LARGEST = 100_000
"""Most names of a list; far more than any step has nodes."""
_BRACKETS = 5
"""Most pairs of brackets in one name; Slurm's own limit."""
_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
_SHOWN = 80
"""Most characters of the list that a message shows."""


def expand(text: str) -> tuple[str, ...]:
    """`rack[1-2]n[01,07-08],login` -> rack1n01, rack1n07, ... login, in Slurm's order.

    Raises InputError for any other text, and does so quickly for a long one."""
    try:
        names = tuple(itertools.islice(_names(text), _LARGEST + 1))
    except ValueError:
        names = ()
    if not names or len(names) > _LARGEST:
        raise InputError(f"{text[:_SHOWN]!r} is not a list of node names as Slurm writes them")
    return names


def _names(text: str) -> Iterator[str]:
    # split at commas outside of brackets
    for word in re.findall(r"(?:\[[^\[\]]*\]|[^,])+", text.strip()):
        yield from _expand_word(word)


def _expand_word(word: str) -> Iterator[str]:
    """Every name of one word with brackets. Raises ValueError if it is malformed."""
    parts = re.split(r"\[([0-9,-]+)\]", word)
    if len(parts) > 2 * _BRACKETS + 1 or any("[" in part or "]" in part for part in parts):
        raise ValueError(word)
    # parts with an odd index were in brackets
    choices = [_numbers(part) if place % 2 else [part] for place, part in enumerate(parts)]
    return map("".join, itertools.product(*choices))


def _numbers(ranges: str) -> list[str]:
    """`01,07-08` -> 01, 07, 08, with leading zeros. Raises ValueError if it is malformed or has too many numbers."""
    found: list[str] = []
    for part in ranges.split(","):
        match = _RANGE.fullmatch(part)
        if match is None:
            raise ValueError(part)
        first, last = int(match[1]), int(match[2] or match[1])
        if not 0 <= last - first < _LARGEST - len(found):
            raise ValueError(part)
        found += [str(number).zfill(len(match[1])) for number in range(first, last + 1)]
    return found
