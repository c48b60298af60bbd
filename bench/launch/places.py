"""Which agent hosts which rank of a run, on which cores and which device."""

from __future__ import annotations

from collections.abc import Sequence

from bench.records.messages import Offer, Place
from bench.records.run_spec import RunSpec


def places(run: RunSpec, offers: Sequence[Offer]) -> dict[int, list[Place]]:
    """Ranks by the task that hosts them, in order: the first nodes that have an agent, node by node.

    Raises LookupError with the reason where the agents that are left cannot host it."""
    nodes: dict[int, list[Offer]] = {}
    for offer in sorted(offers, key=lambda offer: (offer.node, offer.local_task)):
        nodes.setdefault(offer.node, []).append(offer)
    if len(nodes) < run.nodes:
        raise LookupError(f"needs {run.nodes} nodes, this step has {len(nodes)} left")
    found: dict[int, list[Place]] = {}
    for index, here in enumerate(list(nodes.values())[: run.nodes]):
        for task, place in _on_node(run, index, here):
            found.setdefault(task, []).append(place)
    leader = min(offer.task for offer in offers)
    if leader not in found:  # rank 0 has to be where the ranks meet
        raise LookupError(f"needs {run.threads} CPUs for a rank, the leading task has fewer")
    return found


def _on_node(run: RunSpec, index: int, offers: list[Offer]) -> list[tuple[int, Place]]:
    slots = [(offer, slot) for offer in offers for slot in range(offer.hosts(run.device_type, run.threads))]
    if not slots:
        raise LookupError(f"needs {run.threads} CPUs for a rank, a task on {offers[0].node_name} has fewer")
    return [
        (slots[local % len(slots)][0].task, _place(run, index, local, *slots[local % len(slots)]))
        for local in range(run.ranks_per_node)
    ]


def _place(run: RunSpec, index: int, local: int, offer: Offer, slot: int) -> Place:
    return Place(
        rank=index * run.ranks_per_node + local,
        local_rank=local,
        cores=offer.cores(slot, run.device_type, run.threads),
        device_index=offer.devices[slot % len(offer.devices)] if run.device_type == "cuda" else None,
    )
