"""A run that took too long: which rank the others wait for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.launch.orders import Fault, Standing
from bench.spec import RunSpec


def timed_out(run: RunSpec, standings: list[Standing], silent: Sequence[str] = ()) -> Fault:
    """The fault of a run whose agents said how far their ranks are; ranks that have ended are not among them.

    `silent`: nodes of agents that did not answer. While there are some, no rank that was heard of is blamed."""
    rows = {rank: (count, standing.node) for standing in standings for rank, count in standing.rows.items()}
    stopped = sorted(rank for standing in standings for rank in standing.stopped)
    steps = ", ".join(f"rank {rank}: {count}" for rank, (count, _) in sorted(rows.items()))
    busy = {rank: where for standing in standings for rank, where in standing.busy.items()}
    counts = {rank: count for rank, (count, _) in rows.items()}
    behind = None if silent and not stopped else _behind(counts, stopped, busy)
    return Fault(
        status="timeout",
        error=f"not done after {run.measure.timeout_s:g} s (measure.timeout_s); steps completed: {steps}; "
        + "".join(f"rank {rank} is stopped; " for rank in stopped)
        + "".join(f"the agent on {node} does not answer; " for node in silent)
        + (f"rank {behind} is in {busy[behind]}; " if behind in busy else "")
        + "stacks are in the ranks' logs",
        rank=behind,
        node=rows[behind][1] if behind is not None else standings[0].node if _one_node(standings) else None,
    )


def _behind(rows: dict[int, int], stopped: list[int], busy: Mapping[int, str]) -> int | None:
    """The rank that the others wait for: a stopped one, else the one with fewest steps, of several the only one that
    waits for nobody; null where none stands out."""
    if stopped:
        return stopped[0]
    fewest = [rank for rank, count in rows.items() if count == min(rows.values())]
    if len(fewest) > 1:
        fewest = [rank for rank in fewest if rank in busy]
    return fewest[0] if len(fewest) == 1 else None


def _one_node(standings: list[Standing]) -> bool:
    return len({standing.node for standing in standings}) == 1
