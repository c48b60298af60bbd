"""Turn the world sizes of a suite into placements: nodes x ranks per node."""

from __future__ import annotations

from bench.records.run_spec import Slots

Placement = tuple[int, int]
"""Nodes, and ranks on each node."""


def placements(
    world: tuple[int | str | tuple[int, int], ...], per_node: int, slots: Slots, limit: int | None
) -> dict[Placement, bool]:
    """Every placement once, in the order written; True if it was written out, False if it came from `auto`.

    `per_node`: slots of a node for this case; `limit`: the strategy's largest world size."""
    found: dict[Placement, bool] = {}
    for size in world:
        if isinstance(size, tuple):
            found[size] = True
        elif isinstance(size, int):
            found[place(size, per_node, slots.nodes)] = True
        else:
            for ranks in automatic(slots.nodes * per_node, limit):
                found.setdefault(place(ranks, per_node, slots.nodes), False)
    return found


def automatic(total: int, limit: int | None) -> list[int]:
    """Powers of two and the full count, up to the limit; at least one rank."""
    largest = max(1, total if limit is None else min(total, limit))
    powers = [2**exponent for exponent in range(largest.bit_length())]
    return powers if powers[-1] == largest else [*powers, largest]


def place(ranks: int, per_node: int, nodes: int) -> Placement:
    """The fewest nodes that host that many ranks evenly; if none do, the most nodes that divide them."""
    even = [count for count in range(1, min(nodes, ranks) + 1) if ranks % count == 0]
    count = next((count for count in even if ranks // count <= per_node), even[-1])
    return count, ranks // count


def obstacle(placement: Placement, per_node: int, slots: Slots, threads: int) -> tuple[str, bool] | None:
    """Why these slots cannot host a placement, and whether --oversubscribe could; null if they can."""
    nodes, ranks = placement
    if nodes > slots.nodes:
        return f"needs {nodes} nodes, this {_here(slots)} has {slots.nodes}", False
    if ranks <= per_node:
        return None
    if per_node == 0:
        needed = f"{ranks} slot{'s' * (ranks > 1)} of {threads} threads"
        return f"needs {needed}, this {_here(slots)} has {slots.cpus_per_node} CPUs", True
    total = per_node * slots.nodes
    if nodes * ranks <= total:
        spread = f"{ranks} of {nodes * ranks} ranks on a node"
        return f"needs {spread}, each node of this {_here(slots)} has {per_node} slots", True
    return f"needs {nodes * ranks} slots, this {_here(slots)} has {total}", True


def _here(slots: Slots) -> str:
    return "machine" if slots.nodes == 1 else "allocation"
