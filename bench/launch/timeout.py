"""A run that took too long: which rank the others wait for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.records.messages import Fault, Standing
from bench.records.run_spec import RunSpec

_SHOWN = 16
"""Of ranks, nodes or groups of ranks in a message."""


def timed_out(run: RunSpec, standings: list[Standing], silent: Sequence[str] = ()) -> Fault:
    """The fault of a run whose agents said how far their ranks are; ranks that have ended are not among them.

    `silent`: nodes of agents that did not answer. While there are some, no rank that was heard of is blamed."""
    rows = {rank: (count, standing.node) for standing in standings for rank, count in standing.rows.items()}
    stopped = sorted(rank for standing in standings for rank in standing.stopped)
    busy = {rank: where for standing in standings for rank, where in standing.busy.items()}
    counts = {rank: count for rank, (count, _) in rows.items()}
    behind = None if silent and not stopped else _behind(counts, stopped, busy)
    return Fault(
        status="timeout",
        error=f"not done after {run.measure.timeout_s:g} s (measure.timeout_s); steps completed: {_steps(counts)}; "
        + _each(stopped, "rank {} is stopped; ", "ranks are stopped; ")
        + _each(silent, "the agent on {} does not answer; ", "agents do not answer; ")
        + (f"rank {behind} is in {busy[behind]}; " if behind in busy else "")
        + "stacks are in the ranks' logs",
        rank=behind,
        node=rows[behind][1] if behind is not None else standings[0].node if _one_node(standings) else None,
    )


def _steps(counts: Mapping[int, int]) -> str:
    """Of every rank; of more than a line holds, of groups that have done as much, those behind first."""
    if len(counts) <= _SHOWN:
        return ", ".join(f"rank {rank}: {count}" for rank, count in sorted(counts.items()))
    groups: dict[int, list[int]] = {}
    for rank, count in counts.items():
        groups.setdefault(count, []).append(rank)
    told = [
        f"{f'{len(ranks):,} ranks' if len(ranks) > 1 else f'rank {ranks[0]}'}: {count}"
        for count, ranks in sorted(groups.items())
    ]
    return ", ".join(told if len(told) <= _SHOWN else [*told[: _SHOWN - 1], "...", told[-1]])


def _each(names: Sequence[object], one: str, more: str) -> str:
    told = "".join(one.format(name) for name in names[:_SHOWN])
    left = len(names) - _SHOWN
    return told + (f"{left:,} more {more}" if left > 0 else "")


def _behind(rows: dict[int, int], stopped: list[int], busy: Mapping[int, str]) -> int | None:
    """The rank that the others wait for: a stopped one, else the one with fewest steps, of several the only one that
    waits for nobody; null where none stands out."""
    if stopped:
        return stopped[0]
    least = min(rows.values(), default=0)
    fewest = [rank for rank, count in rows.items() if count == least]
    if len(fewest) > 1:
        fewest = [rank for rank in fewest if rank in busy]
    return fewest[0] if len(fewest) == 1 else None


def _one_node(standings: list[Standing]) -> bool:
    return len({standing.node for standing in standings}) == 1
