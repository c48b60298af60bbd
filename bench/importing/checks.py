"""Consistency checks across the trainings of an import: without them, figures made from the rows would be wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from bench.importing.formats.collectives import CollectiveRun
from bench.importing.measurement import Measurement, Problems

K = TypeVar("K", bound=Hashable)
Row = TypeVar("Row", Measurement, CollectiveRun)


def check(file: str, rows: Sequence[Measurement]) -> None:
    """Raises InputError with every problem."""
    problems = Problems(file=file)
    for one in rows:
        if one.world_size % one.nodes:
            problems.add(
                one.place,
                f"{one.world_size} ranks do not divide among {one.nodes} nodes: a placement has the same number on "
                "each",
            )
    for place, what in (
        *_duplicates(rows),
        *_twice_in_a_round(rows),
        *_unequal_within_cases(rows),
        *_unknown_examples(rows),
    ):
        problems.add(place, what)
    problems.raise_if_any()


def _grouped(rows: Iterable[Measurement], key: Callable[[Measurement], K]) -> dict[K, list[Measurement]]:
    groups: dict[K, list[Measurement]] = {}
    for one in rows:
        groups.setdefault(key(one), []).append(one)
    return groups


def _duplicates(rows: Sequence[Measurement]) -> Iterator[tuple[str, str]]:
    for first, *others in _grouped(rows, lambda one: (*one.size, one.repeat)).values():
        for one in others:
            yield (
                one.place,
                f"case {one.case}, world_size {one.world_size}, repeat {one.repeat} is already on {first.place}: "
                "number the repeats",
            )


def _twice_in_a_round(rows: Sequence[Measurement]) -> Iterator[tuple[str, str]]:
    for first, *others in _grouped(rows, lambda one: (*one.size, one.round)).values():
        for one in others if first.round is not None else ():
            yield (
                one.place,
                f"case {one.case}, world_size {one.world_size} is already in round {one.round} on {first.place}: a "
                "round has every size once; leave round empty if the order of the runs is not known",
            )


def _unequal_within_cases(rows: Sequence[Measurement]) -> Iterator[tuple[str, str]]:
    """Values that differ within a case but must not: scaling, strategy and, except in weak scaling, the work."""
    for case, group in _grouped(rows, lambda one: one.case).items():
        for name in ("scaling", "strategy"):
            yield from _unequal(
                group, name, f"in case {case}: a case has one; give the other rows another case"
            )
        if group[0].scaling == "strong":
            for name in ("examples", "epochs"):
                yield from _unequal(
                    group,
                    name,
                    f"in case {case}: strong scaling means the same work at every size; otherwise use weak",
                )
        else:
            for of_size in _grouped(group, lambda one: one.size).values():
                yield from _unequal(of_size, "epochs", f"in case {case} at {of_size[0].world_size} ranks")


def _unequal(group: Sequence[Measurement], name: str, reason: str) -> Iterator[tuple[str, str]]:
    first = group[0]
    for one in group[1:]:
        value, wanted = getattr(one, name), getattr(first, name)
        if value != wanted:
            yield one.place, f"{name} is {_shown(value)}, but {_shown(wanted)} on {first.place}, {reason}"


def _shown(value: object) -> str:
    return "not known" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def _unknown_examples(rows: Sequence[Measurement]) -> Iterator[tuple[str, str]]:
    """Without examples the unit of work is a whole training, so either all rows have examples or none has."""
    unknown = [one for one in rows if one.examples is None and one.throughput is None]
    if not unknown:
        return
    for one in unknown:
        if one.scaling == "weak":
            yield (
                one.place,
                "examples are not known: weak scaling needs them, since the work grows with the size",
            )
    if len(unknown) < len(rows) and rows[0].examples is not None:
        yield unknown[0].place, f"examples are not known, but on {rows[0].place} they are: all rows or none"
    elif len(unknown) < len(rows):
        known = next(one for one in rows if one.examples is not None)
        yield known.place, f"examples are known, but on {rows[0].place} they are not: all rows or none"


def number_repeats(rows: Iterable[Row]) -> list[Row]:
    """The rows with `repeat` set: rows of the same case and size are repeats, in their order."""
    seen: Counter[tuple[str, int, int]] = Counter()
    numbered = []
    for one in rows:
        numbered.append(replace(one, repeat=seen[one.size]))
        seen[one.size] += 1
    return numbered
