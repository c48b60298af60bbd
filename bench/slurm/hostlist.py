"""Slurm's compact lists of node names, written out: scontrol, which does the same, is not in a container."""

from __future__ import annotations

import itertools
import re

from bench.errors import InputError

_LARGEST = 100_000
"""Nodes; far more than any step has."""


def expand(text: str) -> tuple[str, ...]:
    """`rack[1-2]n[01,07-08],login` -> rack1n01, rack1n07, ... login, in Slurm's order.

    Raises InputError where it is no such list."""
    names = [name for word in _split(text) for name in _expand_word(word, text)]
    if not names or len(names) > _LARGEST:
        raise InputError(f"{text!r} is no list of node names as Slurm writes them")
    return tuple(names)


def _split(text: str) -> list[str]:
    """At the commas that are outside of brackets."""
    return [word for word in re.split(r",(?![^\[]*\])", text.strip()) if word]


def _expand_word(word: str, text: str) -> list[str]:
    parts = re.split(r"\[([0-9,-]+)\]", word)
    if any("[" in part or "]" in part for part in parts):
        raise InputError(f"{text!r} is no list of node names as Slurm writes them")
    # odd parts stood in brackets
    choices = [_numbers(part, text) if place % 2 else [part] for place, part in enumerate(parts)]
    return ["".join(choice) for choice in itertools.islice(itertools.product(*choices), _LARGEST + 1)]


def _numbers(ranges: str, text: str) -> list[str]:
    """`01,07-08` -> 01, 07, 08: as wide as they are written."""
    found: list[str] = []
    for part in ranges.split(","):
        first, dash, last = part.partition("-")
        last = last if dash else first
        if not first.isdecimal() or not last.isdecimal() or int(last) - int(first) >= _LARGEST:
            raise InputError(f"{text!r} is no list of node names as Slurm writes them")
        found += [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1)]
    return found
