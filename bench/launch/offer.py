"""What one agent can host: its share of its node's GPUs and CPUs. Tasks that share a node split what both see."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence

from bench import slots as node_slots
from bench.records.messages import Offer
from bench.records.run_spec import Slots
from bench.slurm.allocation import fewer_than_asked
from bench.slurm.step import Step


def own_offer(step: Step | None, ranks_per_node: int | None) -> Offer:
    """This process's. Raises InputError where CUDA_VISIBLE_DEVICES or a variable of Slurm's is wrong."""
    node = node_slots.detect(ranks_per_node)
    tasks = 1 if step is None else step.tasks_per_node[step.node]
    local = 0 if step is None else step.local_task
    cpus = _cpus(node.cpus_per_node, tasks, local)
    devices = _mine(node_slots.visible_gpus(), node.cuda_devices_per_node, tasks, local)
    return Offer(
        task=0 if step is None else step.task,
        node=0 if step is None else step.node,
        node_name=platform.node() if step is None else step.node_names[step.node],
        local_task=local,
        cpus=cpus,
        devices=devices,
        slots=_fixed_slots(node, ranks_per_node, tasks, local) if node.fixed else len(devices) or len(cpus),
        fixed=node.fixed,
    )


def _fixed_slots(node: Slots, by_hand: int | None, tasks: int, local: int) -> int:
    seen = node_slots.slurm_gpus_seen()
    if by_hand is not None or tasks == 1 or seen == 0:
        return len(_split(node.slots_per_node, tasks, local))
    return len(_mine(seen, node.slots_per_node, tasks, local))


def total(offers: Sequence[Offer]) -> Slots:
    """What all agents host together; nodes that offer more than the least are used as far as that."""
    by_node: dict[int, list[Offer]] = {}
    for offer in offers:
        by_node.setdefault(offer.node, []).append(offer)
    per_node = by_node.values()
    cuda = min(sum(len(offer.devices) for offer in here) for here in per_node)
    return Slots(
        nodes=len(by_node),
        slots_per_node=min(sum(offer.slots for offer in here) for here in per_node),
        cpus_per_node=min(len({cpu for offer in here for cpu in offer.cpus}) for here in per_node),
        device_type="cuda" if cuda else "cpu",
        cuda_devices_per_node=cuda,
        fixed=any(offer.fixed for offer in offers),
    )


def odd(offers: Sequence[Offer]) -> list[str]:
    """Warnings: what Slurm gave and hardly anyone wants."""
    together = total(offers)
    found = [uneven(offers)]
    if together.fixed and together.cpus_per_node < together.slots_per_node:
        per_task = node_slots.slurm_number("SLURM_CPUS_PER_TASK") or 0
        tasks = sum(offer.node == offers[0].node for offer in offers)
        few = per_task * tasks > together.cpus_per_node
        found.append(
            f"each node gives {together.slots_per_node} slots and {together.cpus_per_node} "
            f"CPU{'s' * (together.cpus_per_node > 1)}: ranks share cores; "
            + (fewer_than_asked(per_task) if few else "ask srun for --cpus-per-task, the cores of a node")
        )
    return [text for text in found if text]


def uneven(offers: Sequence[Offer]) -> str | None:
    """A warning where nodes do not offer the same; null where they do."""
    counts: dict[str, int] = {}
    for offer in offers:
        counts[offer.node_name] = counts.get(offer.node_name, 0) + offer.slots
    if len(set(counts.values())) == 1:
        return None
    listed = ", ".join(f"{name} {count}" for name, count in counts.items())
    return (
        f"the nodes of this step have different numbers of slots ({listed}): each is used as if it had "
        f"{min(counts.values())}; ask for --gpus-per-node instead of --gpus to get them alike"
    )


def _cpus(count: int, tasks: int, local: int) -> list[int]:
    """`count`: those that this process may use. Where Slurm bound each task to cores of its own they are these;
    else the tasks of a node split them."""
    cpus = sorted(os.sched_getaffinity(0))[:count]
    on_node = node_slots.slurm_number("SLURM_CPUS_ON_NODE") or len(cpus)
    if tasks == 1 or len(cpus) * tasks <= on_node:
        return cpus
    share = max(1, len(cpus) // tasks)
    return [cpus[(local * share + offset) % len(cpus)] for offset in range(share)]


def _mine(seen: int, on_node: int, tasks: int, local: int) -> list[int]:
    """Indices of what this task sees: all where every task sees its own, else its share."""
    if tasks == 1 or seen * tasks <= on_node:
        return list(range(seen))
    return _split(seen, tasks, local)


def _split(count: int, tasks: int, local: int) -> list[int]:
    """Every `tasks`-th of `count`, from `local`."""
    return list(range(local, count, tasks))
