"""Select from a suite: --case, --world, --repeats, --device."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from fnmatch import fnmatchcase
from math import prod
from typing import Any

from bench import strategies
from bench.common.errors import InputError
from bench.common.nearest import near_or_all
from bench.suite.models import Case, WorldSize, world_size


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The options of the command line that select and override parts of a suite."""

    quick: bool = False
    settings: tuple[str, ...] = ()
    """KEY=VALUE of every --set."""
    vary: tuple[str, ...] = ()
    """KEY=VALUE,VALUE,... of every --vary."""
    cases: tuple[str, ...] = ()
    """Globs; none selects every case."""
    world: str | None = None
    """Comma-separated world sizes that replace the cases' own."""
    repeats: int | None = None
    device: str | None = None


def select(cases: tuple[Case, ...], selection: Selection) -> tuple[Case, ...]:
    """The cases that the command line selects, with its world sizes, repeats and device.

    Raises InputError if none is left."""
    cases = _by_name(cases, selection.cases)
    if selection.world is not None:
        cases = _at_sizes(cases, world_sizes(selection.world))
    changes: dict[str, Any] = {}
    if selection.device is not None:
        changes["device"] = selection.device
    selected = []
    for case in cases:
        if selection.repeats is not None:  # exactly that number
            changes["measure"] = dataclasses.replace(
                case.measure, repeats=selection.repeats, until=None, until_efficiency=None, max_repeats=None
            )
        selected.append(case.model_copy(update=changes))
    return tuple(selected)


def _by_name(cases: tuple[Case, ...], globs: tuple[str, ...]) -> tuple[Case, ...]:
    """Cases whose name matches, or the name of the case whose matrix made them, and their baselines: without those they
    could not be judged."""
    if not globs:
        return cases
    names = [case.name for case in cases]
    kept = set()
    for glob in globs:
        matching = {
            name for name in names if fnmatchcase(name, glob) or fnmatchcase(name.partition("~")[0], glob)
        }
        if not matching:
            raise InputError(f"--case {glob}: it matches no case{near_or_all(glob, names)}")
        kept |= matching
    kept |= {case.baseline for case in cases if case.name in kept and case.baseline is not None}
    return tuple(case for case in cases if case.name in kept)


def _at_sizes(cases: tuple[Case, ...], sizes: tuple[WorldSize, ...]) -> tuple[Case, ...]:
    """Cases at other world sizes, without the sizes that a strategy cannot have; thread-scaled cases are kept."""
    left = []
    for case in cases:
        limit = strategies.load(case.strategy.name).max_world_size
        own = tuple(
            size
            for size in sizes
            if limit is None or size == "auto" or (prod(size) if isinstance(size, tuple) else size) <= limit
        )
        if case.threads is not None and len(case.threads) > 1:
            left.append(case)
        elif own:
            left.append(case.model_copy(update={"world": own}))
    if not left:
        raise InputError(f"--world: no case can have the world size{'s' * (len(sizes) > 1)} given")
    return tuple(left)


def world_sizes(text: str) -> tuple[WorldSize, ...]:
    """The sizes of `1,2,4`, `2x4` or `auto`. Raises InputError."""
    sizes = []
    for part in text.split(","):
        word = part.strip()
        try:
            sizes.append(world_size(int(word) if word.isdecimal() and len(word) < 10 else word))
        except ValueError as error:
            raise InputError(f"--world {text}: {word!r} {error}") from None
    return tuple(sizes)
