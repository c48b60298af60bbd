"""Which agent hosts which rank of a run, on which cores and device; and the share of its node that an agent offers."""

from __future__ import annotations

import itertools
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from bench.launch.step import Share, Step
from bench.machine import cpus, gpus
from bench.machine import slots as node_slots
from bench.records.messages import Gpu, Offer, Place
from bench.records.run_spec import RunSpec, Slots
from bench.records.vocabulary import DeviceType
from bench.slurm.allocation import fewer_than_asked

_T = TypeVar("_T")


def place_ranks(run: RunSpec, offers: Sequence[Offer]) -> dict[int, list[Place]]:
    """Places of the run's ranks by the task that hosts them, node by node on the first nodes that have an agent.

    Raises LookupError with the reason if these agents cannot host the run."""
    nodes = _by_node(offers)
    if len(nodes) < run.nodes:
        raise LookupError(f"needs {run.nodes} nodes, this step has {len(nodes)} left")
    found: dict[int, list[Place]] = {}
    for index, on_node in enumerate(nodes[: run.nodes]):
        slots = [(offer, *slot) for offer in on_node for slot in _slots(offer, run.device_type, run.threads)]
        if not slots:
            raise LookupError(
                f"needs {run.threads} CPUs for a rank, a task on {on_node[0].node_name} has fewer"
            )
        if run.ranks_per_node > len(slots) and not run.oversubscribed:
            raise LookupError(
                f"needs {run.ranks_per_node} slots on a node, the tasks of {on_node[0].node_name} have {len(slots)}"
            )
        for local_rank in range(run.ranks_per_node):
            offer, cpus, gpu = slots[local_rank % len(slots)]
            place = Place(
                rank=index * run.ranks_per_node + local_rank,
                local_rank=local_rank,
                cpus=cpus,
                gpu=gpu,
                sampled_as=None if gpu is None else _sampled_as(gpu, offer, on_node[0]),
            )
            found.setdefault(offer.task, []).append(place)
    leader = min(offer.task for offer in offers)
    if leader not in found:  # the ranks meet on the leader's node, where rank 0 has to be
        lacking = "a GPU" if run.device_type == "cuda" else f"{run.threads} CPUs"
        raise LookupError(f"needs {lacking} for the first rank, which the leading task does not have")
    return found


def _slots(offer: Offer, device_type: DeviceType, threads: int) -> list[tuple[list[int], Gpu | None]]:
    """CPUs and GPU of each rank that fits here, the same at every world size."""
    count = offer.capacity(device_type, threads)
    if device_type == "cpu":
        return [(given, None) for given in _cpus_of_slots(offer.cores, count, max(threads, 1))]
    if not offer.gpus:
        return []
    gpus = [offer.gpus[slot % len(offer.gpus)] for slot in range(count)]
    return list(zip(cpus.near_gpus(offer.cores, gpus), gpus, strict=True))


def _cpus_of_slots(cores: Sequence[Sequence[int]], count: int, threads: int) -> list[list[int]]:
    """CPUs of each of `count` ranks without a GPU: one for each thread, because more would be idle or, worse, taken by
    a loader worker. A rank has cores of its own if there are enough, and its threads a core each if that suffices."""
    own = len(cores) // max(1, count)
    shares = [cpus.core_by_core(cores[slot * own : (slot + 1) * own]) for slot in range(count)]
    if all(len(share) >= threads for share in shares):
        return [share[:threads] for share in shares]
    in_order = cpus.core_by_core(cores) if threads == 1 else [cpu for core in cores for cpu in core]
    size = min(threads, max(1, len(in_order) // count))
    return [
        [in_order[(slot * size + place) % len(in_order)] for place in range(size)] for slot in range(count)
    ]


def _sampled_as(gpu: Gpu, offer: Offer, first: Offer) -> int | None:
    """Index of the GPU for the first task of its node, which reads the sensors; null if that does not see it."""
    if offer is first:
        return gpu.index
    return next(
        (seen.index for seen in first.seen_gpus if gpu.uuid is not None and seen.uuid == gpu.uuid), None
    )


def shares_gpus(places: Mapping[int, Sequence[Place]], offers: Sequence[Offer]) -> bool:
    """Whether two ranks of a run are on the same GPU, or on slices of one; `places` are by task."""
    node_of = {offer.task: offer.node for offer in offers}
    used = [
        (node_of[task], place.gpu.sliced_gpu or place.gpu.uuid or (task, place.gpu.index))
        for task, here in places.items()
        for place in here
        if place.gpu is not None
    ]
    return len(set(used)) < len(used)


def _by_node(offers: Sequence[Offer]) -> list[list[Offer]]:
    """The offers of each node, by task. A GPU that several tasks offer counts as the first one's."""
    found: dict[int, list[Offer]] = {}
    for offer in sorted(offers, key=lambda offer: (offer.node, offer.local_task)):
        on_node = found.setdefault(offer.node, [])
        taken = {gpu.uuid for other in on_node for gpu in other.gpus if gpu.uuid is not None}
        own = [gpu for gpu in offer.gpus if gpu.uuid not in taken]
        if len(own) < len(offer.gpus):
            offer = replace(offer, gpus=own, slots=offer.slots if offer.fixed else len(own))  # noqa: PLW2901
        on_node.append(offer)
    return list(found.values())


def own_offer(step: Step | None, ranks_per_node: int | None) -> Offer:
    """This process's share of its node's GPUs and cores: tasks that share a node split what all of them see.

    Raises InputError if CUDA_VISIBLE_DEVICES or a variable of Slurm is wrong."""
    node = node_slots.detect(ranks_per_node)
    tasks = 1 if step is None else step.tasks_per_node[step.node]
    local = 0 if step is None else step.local_task
    seen = gpus.visible()
    own: Sequence[Gpu]
    if step is not None and step.gpu_share is not None:
        own = seen[step.gpu_share.index :: step.gpu_share.of]
    else:
        own = _own_part(seen, node.cuda_devices_per_node, tasks, local)
    cores = _own_cores(node.cpus_per_node, tasks, local, None if step is None else step.cpu_share, seen, own)
    if not node.fixed:
        slots = len(own) or sum(map(len, cores))
    elif ranks_per_node is not None or tasks == 1 or (shown := node_slots.slurm_gpus_seen()) == 0:
        slots = len(range(local, node.slots_per_node, tasks))
    else:
        slots = len(_own_part(range(shown), node.slots_per_node, tasks, local))
    return Offer(
        task=0 if step is None else step.task,
        node=0 if step is None else step.node,
        node_name=platform.node() if step is None else step.node_names[step.node],
        local_task=local,
        cores=cores,
        gpus=list(own),
        seen_gpus=seen,
        slots=slots,
        fixed=node.fixed,
    )


def _own_cores(
    count: int, tasks: int, local: int, part: Share | None, seen: Sequence[Gpu], own: Sequence[Gpu]
) -> list[list[int]]:
    """Cores for this task, out of the first `count` CPUs that it may use: its part of them. If the part is unknown and
    Slurm bound each task to its own cores, all of them. Otherwise the tasks of the node split them: each has those near
    its GPUs, if it has some, and a part of the rest."""
    allowed = os.sched_getaffinity(0)
    cores = cpus.cores(allowed)
    if count < len(allowed):
        in_order = [cpu for core in cores for cpu in core]
        cores = cpus.cores(in_order[:count])
    if part is None:
        on_node = node_slots.slurm_number("SLURM_CPUS_ON_NODE") or count
        bound = tasks == 1 or count * tasks <= on_node
        part = Share(index=0, of=1) if bound else Share(index=local, of=tasks)
    if part.of == 1:
        return cores
    if not part.of <= len(seen) > len(own):
        return cpus.cores(cpus.split(cores, part.of)[part.index])
    near = dict(zip((gpu.index for gpu in seen), cpus.near_gpus(cores, seen), strict=True))
    taken = {cpu for given in near.values() for cpu in given}
    left = [core for core in cores if taken.isdisjoint(core)]
    return cpus.cores(
        {cpu for gpu in own for cpu in near[gpu.index]}
        | {cpu for core in left[part.index :: part.of] for cpu in core}
    )


def _own_part(seen: Sequence[_T], on_node: int, tasks: int, local: int) -> Sequence[_T]:
    """The task's own of the GPUs that it sees: all if each task sees only its own, otherwise every `tasks`-th from
    `local` on."""
    return seen if tasks == 1 or len(seen) * tasks <= on_node else seen[local::tasks]


def total(offers: Sequence[Offer]) -> Slots:
    """Slots of all agents together. Every node counts as the node with the fewest slots."""
    nodes = _by_node(offers)
    cuda = min(sum(len(offer.gpus) for offer in on_node) for on_node in nodes)
    return Slots(
        nodes=len(nodes),
        slots_per_node=min(sum(offer.slots for offer in on_node) for on_node in nodes),
        cpus_per_node=min(len({cpu for offer in on_node for cpu in offer.cpus}) for on_node in nodes),
        device_type="cuda" if cuda else "cpu",
        cuda_devices_per_node=cuda,
        cpus_per_gpu=min(
            (len(given) for offer in offers for given in cpus.near_gpus(offer.cores, offer.gpus)), default=0
        ),
        fixed=any(offer.fixed for offer in offers),
    )


def slot_warnings(offers: Sequence[Offer]) -> list[str]:
    """Warnings about slots that Slurm probably gave by mistake: uneven nodes, GPUs hidden from each other's tasks, or
    fewer CPUs than slots."""
    found = []
    for on_node in _by_node(offers):
        seen = [{gpu.uuid for gpu in offer.seen_gpus} for offer in on_node]
        if any(one and other and one.isdisjoint(other) for one, other in itertools.combinations(seen, 2)):
            found.append(
                f"the tasks of {on_node[0].node_name} see different GPUs, so NCCL may connect them slowly or not at "
                "all: ask for --gpus-per-node instead of --gpus-per-task, or add --gpu-bind=none"
            )
            break
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
