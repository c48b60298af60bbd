"""Which agent hosts which rank of a run, on which cores and device; and the share of its node that an agent offers."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence

from bench.launch.step import Share, Step
from bench.machine import slots as node_slots
from bench.records.messages import Offer, Place
from bench.records.run_spec import RunSpec, Slots
from bench.slurm.allocation import fewer_than_asked


def place_ranks(run: RunSpec, offers: Sequence[Offer]) -> dict[int, list[Place]]:
    """Places of the run's ranks by the task that hosts them, node by node on the first nodes that have an agent.

    Raises LookupError with the reason if these agents cannot host the run."""
    nodes = _by_node(sorted(offers, key=lambda offer: (offer.node, offer.local_task)))
    if len(nodes) < run.nodes:
        raise LookupError(f"needs {run.nodes} nodes, this step has {len(nodes)} left")
    found: dict[int, list[Place]] = {}
    for index, on_node in enumerate(nodes[: run.nodes]):
        slots = [
            (offer, slot) for offer in on_node for slot in range(offer.capacity(run.device_type, run.threads))
        ]
        if not slots:
            raise LookupError(
                f"needs {run.threads} CPUs for a rank, a task on {on_node[0].node_name} has fewer"
            )
        for local_rank in range(run.ranks_per_node):
            offer, slot = slots[local_rank % len(slots)]
            place = Place(
                rank=index * run.ranks_per_node + local_rank,
                local_rank=local_rank,
                cores=offer.cores(slot, run.device_type, run.threads),
                device_index=offer.devices[slot % len(offer.devices)] if run.device_type == "cuda" else None,
            )
            found.setdefault(offer.task, []).append(place)
    leader = min(offer.task for offer in offers)
    if leader not in found:  # the ranks meet on the leader's node, where rank 0 has to be
        raise LookupError(f"needs {run.threads} CPUs for a rank, the leading task has fewer")
    return found


def _by_node(offers: Sequence[Offer]) -> list[list[Offer]]:
    found: dict[int, list[Offer]] = {}
    for offer in offers:
        found.setdefault(offer.node, []).append(offer)
    return list(found.values())


def own_offer(step: Step | None, ranks_per_node: int | None) -> Offer:
    """This process's share of its node's GPUs and CPUs: tasks that share a node split what all of them see.

    Raises InputError if CUDA_VISIBLE_DEVICES or a variable of Slurm is wrong."""
    node = node_slots.detect(ranks_per_node)
    tasks = 1 if step is None else step.tasks_per_node[step.node]
    local = 0 if step is None else step.local_task
    cpus = _own_cpus(node.cpus_per_node, tasks, local, None if step is None else step.cpu_share)
    seen = node_slots.visible_gpus()
    if step is not None and step.gpu_share is not None:
        devices = list(range(step.gpu_share.index, seen, step.gpu_share.of))
    else:
        devices = _own_part(seen, node.cuda_devices_per_node, tasks, local)
    if not node.fixed:
        slots = len(devices) or len(cpus)
    elif ranks_per_node is not None or tasks == 1 or (shown := node_slots.slurm_gpus_seen()) == 0:
        slots = len(range(local, node.slots_per_node, tasks))
    else:
        slots = len(_own_part(shown, node.slots_per_node, tasks, local))
    return Offer(
        task=0 if step is None else step.task,
        node=0 if step is None else step.node,
        node_name=platform.node() if step is None else step.node_names[step.node],
        local_task=local,
        cpus=cpus,
        devices=devices,
        slots=slots,
        fixed=node.fixed,
    )


def _own_cpus(count: int, tasks: int, local: int, part: Share | None) -> list[int]:
    """CPUs for this task, out of the first `count` that it may use: its part of them. If the part is unknown and Slurm
    bound each task to its own cores, all of them; otherwise the tasks of the node split them."""
    cpus = sorted(os.sched_getaffinity(0))[:count]
    if part is None:
        on_node = node_slots.slurm_number("SLURM_CPUS_ON_NODE") or len(cpus)
        bound = tasks == 1 or len(cpus) * tasks <= on_node
        part = Share(index=0, of=1) if bound else Share(index=local, of=tasks)
    if part.of == 1:
        return cpus
    share = max(1, len(cpus) // part.of)
    return [cpus[(part.index * share + offset) % len(cpus)] for offset in range(share)]


def _own_part(seen: int, on_node: int, tasks: int, local: int) -> list[int]:
    """Indices, among those that this task sees, of the GPUs that are its own: all if each task sees only its own,
    otherwise every `tasks`-th from `local` on."""
    if tasks == 1 or seen * tasks <= on_node:
        return list(range(seen))
    return list(range(local, seen, tasks))


def total(offers: Sequence[Offer]) -> Slots:
    """Slots of all agents together. Every node counts as the node with the fewest slots."""
    nodes = _by_node(offers)
    cuda = min(sum(len(offer.devices) for offer in on_node) for on_node in nodes)
    return Slots(
        nodes=len(nodes),
        slots_per_node=min(sum(offer.slots for offer in on_node) for on_node in nodes),
        cpus_per_node=min(len({cpu for offer in on_node for cpu in offer.cpus}) for on_node in nodes),
        device_type="cuda" if cuda else "cpu",
        cuda_devices_per_node=cuda,
        fixed=any(offer.fixed for offer in offers),
    )


def slot_warnings(offers: Sequence[Offer]) -> list[str]:
    """Warnings about slots that Slurm probably gave by mistake: uneven nodes, or fewer CPUs than slots."""
    found = []
    counts: dict[str, int] = {}
    for offer in offers:
        counts[offer.node_name] = counts.get(offer.node_name, 0) + offer.slots
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{name} {count}" for name, count in counts.items())
        found.append(
            f"the nodes of this step have different numbers of slots ({listed}): each is used as if it had "
            f"{min(counts.values())}; ask for --gpus-per-node instead of --gpus to make them equal"
        )
    slots = total(offers)
    if slots.fixed and slots.cpus_per_node < slots.slots_per_node:
        per_task = node_slots.slurm_number("SLURM_CPUS_PER_TASK") or 0
        tasks = sum(offer.node == offers[0].node for offer in offers)
        few = per_task * tasks > slots.cpus_per_node
        found.append(
            f"each node gives {slots.slots_per_node} slots and {slots.cpus_per_node} "
            f"CPU{'s' * (slots.cpus_per_node > 1)}: ranks share cores; "
            + (fewer_than_asked(per_task) if few else "ask srun for --cpus-per-task, the cores of a node")
        )
    return found
