"""What the command line leaves of a suite: --case, --world, --repeats, --device."""

from __future__ import annotations

import dataclasses
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from bench import strategies
from bench.errors import InputError
from bench.suite.models import Case, ResolvedSuite, WorldSize, world_size
from bench.suite.nearest import near_or_all

if TYPE_CHECKING:
    from bench.suite.resolve import Selection


def narrow(suite: ResolvedSuite, selection: Selection) -> ResolvedSuite:
    """The suite with fewer cases or other values. Raises InputError where nothing is left."""
    cases = _chosen(suite.cases, selection.cases)
    if selection.world is not None:
        cases = _at_sizes(cases, _world_sizes(selection.world))
    changes: dict[str, Any] = {"device": selection.device} if selection.device is not None else {}
    narrowed = []
    for case in cases:
        measure = case.measure
        if selection.repeats is not None:
            measure = dataclasses.replace(
                measure, repeats=selection.repeats, until=None, max_repeats=None
            )  # so many, no more
        narrowed.append(case.model_copy(update={**changes, "measure": measure}))
    return dataclasses.replace(suite, cases=tuple(narrowed))


def _chosen(cases: tuple[Case, ...], globs: tuple[str, ...]) -> tuple[Case, ...]:
    """Cases that match, by their own name or by that of the case whose matrix made them, and the cases that they name
    as their baseline: without those they could not be judged."""
    if not globs:
        return cases
    names = [case.name for case in cases]
    for glob in globs:
        if not any(_matches(name, glob) for name in names):
            raise InputError(f"--case {glob}: it matches no case{near_or_all(glob, names)}")
    kept = {name for name in names if any(_matches(name, glob) for glob in globs)}
    kept |= {case.baseline for case in cases if case.name in kept and case.baseline is not None}
    return tuple(case for case in cases if case.name in kept)


def _matches(name: str, glob: str) -> bool:
    return fnmatchcase(name, glob) or fnmatchcase(name.partition("~")[0], glob)


def _at_sizes(cases: tuple[Case, ...], sizes: tuple[WorldSize, ...]) -> tuple[Case, ...]:
    """Cases at other world sizes; sizes that a strategy cannot have are left out, thread-scaled cases stay."""
    left = []
    for case in cases:
        limit = strategies.load(case.strategy.name).max_world_size
        own = tuple(size for size in sizes if limit is None or size == "auto" or _ranks(size) <= limit)
        if case.threads is not None and len(case.threads) > 1:
            left.append(case)
        elif own:
            left.append(case.model_copy(update={"world": own}))
    if not left:
        raise InputError(f"--world: no case can have the world size{'s' * (len(sizes) > 1)} given")
    return tuple(left)


def _ranks(size: WorldSize) -> int:
    assert size != "auto"
    return size[0] * size[1] if isinstance(size, tuple) else size


def _world_sizes(text: str) -> tuple[WorldSize, ...]:
    sizes = []
    for part in text.split(","):
        word = part.strip()
        try:
            sizes.append(world_size(int(word) if word.isdecimal() and len(word) < 10 else word))
        except ValueError as error:
            raise InputError(f"--world {text}: {word!r} {error}") from None
    return tuple(sizes)
