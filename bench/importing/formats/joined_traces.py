"""The traces of all ranks become one run: on one clock, and replayed without stragglers if their collectives match."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from bench.common.errors import InputError
from bench.importing.formats.kineto import SLICES, RankTrace, TracedStep
from bench.importing.formats.profiled_run import ProfiledRun, Row, replay_rows
from bench.importing.parse_cells import LARGEST_WORLD
from bench.importing.replay import Operation, Replay, even_durations
from bench.measure.profile.collective_names import CONTROL, Collective

_MOST_DRAWN = 500_000
"""Most rows of the timeline, if they are of more than one step: further steps are not drawn."""
_MOST_REPLAYED = 200_000
"""Most operations of a step that are replayed: time and memory grow with ranks times operations."""
_OF_ALL_RANKS = frozenset(
    ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all", "barrier", CONTROL)
)


def run_of(traces: Sequence[RankTrace], case: str, world: int | None) -> ProfiledRun:
    """The traces of one run, one per rank; `world` is the number of ranks if the traces do not tell it.

    Raises InputError if they do not belong together."""
    ranked = _by_rank(traces)
    size = _world_size(ranked, world)
    hosts = dict.fromkeys(each.host for each in ranked.values())
    complete = len(ranked) == size and None not in hosts
    nodes = len(hosts) if complete and size % len(hosts) == 0 else 1
    first = next(iter(ranked.values()))
    devices = dict.fromkeys(each.device_name for each in ranked.values() if each.device_name)
    offsets = _offsets(ranked, size)
    node_of = {rank: list(hosts).index(each.host) if nodes > 1 else 0 for rank, each in ranked.items()}
    tables: dict[str, list[Row]] = {
        name: []
        for name in (
            "profile",
            "profile_collectives",
            "profile_groups",
            "profile_timeline",
            "profile_replays",
        )
    }
    drawn = max(1, _MOST_DRAWN // (SLICES * len(ranked)))
    for rank, each in ranked.items():
        place = {"rank": rank, "node": node_of[rank]}
        for number, step in enumerate(each.steps):
            for table, row in _rows(each, step):
                tables[table].append({**place, "step": step.number, **row})
            if number < drawn:
                for row in _timeline(step, offsets.get((rank, step.number), 0)):
                    tables["profile_timeline"].append({**place, "step": step.number, **row})
    if len(ranked) == size:
        tables["profile_replays"] = list(_replays(ranked))
    return ProfiledRun(
        place=first.name,
        case=case,
        world_size=size,
        nodes=nodes,
        device_type="cuda" if any(each.on_device for each in ranked.values()) else "cpu",
        device_name=", ".join(devices) or None,
        backend=first.backend,
        nccl=first.nccl,
        ranks=len(ranked),
        tables=tables,
    )


def _by_rank(traces: Sequence[RankTrace]) -> dict[int, RankTrace]:
    """The traces in the order of their ranks. Raises InputError if a rank is unknown or has two files."""
    found: dict[int, RankTrace] = {}
    for each in traces:
        rank = 0 if each.rank is None and len(traces) == 1 else each.rank
        if rank is None:
            raise InputError(
                f"{each.name}: neither the trace (member distributedInfo) nor the file's name tells the rank: name the "
                "files rank-0.json, rank-1.json, ..."
            )
        if other := found.get(rank):
            raise InputError(
                f"{each.name}: rank {rank} is already in {other.name}: one import takes one file of each rank, and one "
                "profile of one run"
            )
        if copy := next((other for other in found.values() if other.sha256 == each.sha256), None):
            raise InputError(f"{each.name}: the same trace as {copy.name}: each rank has a trace of its own")
        found[rank] = each
    for each in found.values():
        if not {step.number for step in each.steps} & {step.number for step in traces[0].steps}:
            raise InputError(
                f"{each.name}: no step in common with {traces[0].name}: import each run separately"
            )
    return dict(sorted(found.items()))


def _world_size(ranked: Mapping[int, RankTrace], world: int | None) -> int:
    told = {each.world_size: each.name for each in ranked.values() if each.world_size is not None}
    if len(told) > 1:
        (one, first), (other, second) = list(told.items())[:2]
        raise InputError(
            f"{second}: a world of {other} ranks, but {one} in {first}: import each run separately"
        )
    size = next(iter(told), None)
    if world is not None and size not in (None, world):
        raise InputError(f"--world {world}: {told[size]} says {size}: leave --world out")
    highest = max(ranked)
    size = size or world or highest + 1
    if highest >= size or size > LARGEST_WORLD:
        raise InputError(f"{ranked[highest].name}: rank {highest} in a world of {size}: ranks begin at 0")
    return size


def _rows(trace: RankTrace, step: TracedStep) -> Iterator[tuple[str, Row]]:
    """Table and row of a step, without rank and step."""
    measured = step.profile
    yield (
        "profile",
        {
            "step_ns": measured.step_ns,
            "communication_ns": measured.communication_ns,
            "exposed_communication_ns": measured.exposed_communication_ns,
            "compute_ns": measured.compute_ns,
        },
    )
    for op, each in measured.collectives.items():
        yield "profile_collectives", {
            "op": op, "calls": each.calls, "message_bytes": each.message_bytes, "time_ns": each.time_ns,
        }  # fmt: skip
    for name, each in measured.groups.items():
        if name is not None and name in trace.groups:
            group = trace.groups[name]
            yield "profile_groups", {
                "group_name": name, "description": group.description, "ranks": group.ranks, "calls": each.calls,
                "message_bytes": each.message_bytes, "time_ns": each.time_ns, "exposed_ns": each.exposed_ns,
            }  # fmt: skip


def _timeline(step: TracedStep, begin_ns: int) -> Iterator[Row]:
    """Rows of `profile_timeline` of a step that begins at that moment, without rank and step."""
    length = step.profile.step_ns / SLICES
    for number in range(SLICES):
        yield {
            "slice": number,
            "begin_ns": begin_ns + round(number * length),
            "slice_ns": round((number + 1) * length) - round(number * length),
            "compute_ns": step.slices.compute_ns[number],
            "communication_ns": step.slices.communication_ns[number],
            "exposed_communication_ns": step.slices.exposed_communication_ns[number],
        }


def _shared_steps(ranked: Mapping[int, RankTrace], size: int) -> dict[int, dict[int, TracedStep]]:
    """Number -> rank -> step, of the steps that every rank has, with the same collectives in the same order, each of
    which is known to be of all `size` ranks: those of a smaller group have other partners."""
    steps = {rank: {step.number: step for step in each.steps} for rank, each in ranked.items()}
    shared = set.intersection(*(set(of_rank) for of_rank in steps.values()))
    found = {}
    for number in sorted(shared):
        of_step = {rank: of_rank[number] for rank, of_rank in steps.items()}
        is_same = len({_ops(step.collectives) for step in of_step.values()}) == 1
        if is_same and all(_is_of_all(ranked[rank], step, size) for rank, step in of_step.items()):
            found[number] = of_step
    return found


def _is_of_all(trace: RankTrace, step: TracedStep, size: int) -> bool:
    groups = (trace.groups.get(each.group or "") for each in step.collectives if each.op in _OF_ALL_RANKS)
    return all(group is not None and group.ranks == size for group in groups)


def _ops(collectives: Sequence[Collective]) -> tuple[str, ...]:
    return tuple(each.op for each in collectives)


def _offsets(ranked: Mapping[int, RankTrace], size: int) -> dict[tuple[int, int], int]:
    """(rank, step) -> begin of the step on the ranks' common clock, which is 0 where the first rank begins.

    Ranks on several nodes have no common clock. A collective ends at the same moment on all of its ranks, so their
    steps are laid over each other such that the ends agree: in the median, as single ends scatter. Without matching
    collectives of all ranks they begin at 0."""
    offsets: dict[tuple[int, int], int] = {}
    for number, of_step in _shared_steps(ranked, size).items():
        ends = {
            rank: np.array(
                [each.end_ns - step.window[0] for each in step.collectives if each.op in _OF_ALL_RANKS],
                dtype=np.int64,
            )
            for rank, step in of_step.items()
        }
        reference = next(iter(ends.values()))
        if not len(reference):
            continue
        begins = {rank: int(np.median(reference - of_rank)) for rank, of_rank in ends.items()}
        zero = min(begins.values())
        offsets |= {(rank, number): begin - zero for rank, begin in begins.items()}
    return offsets


def _replays(ranked: Mapping[int, RankTrace]) -> Iterator[Row]:
    """Rows of `profile_replays`, for the steps of all ranks that match. None if messages are among the collectives,
    since those have other partners, or if the replay does not reproduce the steps as they were."""
    shared = _shared_steps(ranked, len(ranked))
    sizes = Counter(len(_of_any(of_step).collectives) for of_step in shared.values())
    if len(ranked) < 2 or not sizes:
        return
    count = max(sizes, key=lambda size: (sizes[size], size))
    steps = {number: one for number, one in shared.items() if len(_of_any(one).collectives) == count}
    if count == 0 or count * len(ranked) > _MOST_REPLAYED:
        return
    order = _ops(_of_any(next(iter(steps.values()))).collectives)
    if not _OF_ALL_RANKS.issuperset(order):
        return
    steps = {number: one for number, one in steps.items() if _ops(_of_any(one).collectives) == order}
    lengths = np.array(
        [[_parts(of_step[rank]) for of_step in steps.values()] for rank in ranked], dtype=np.float64
    )  # [ranks, steps, gap and transfer of each collective, then the tail]
    lengths[:, :, 1:-1:2] = lengths[:, :, 1:-1:2].min(axis=0)  # the rank that comes last waits for none
    operations_of = list(_chain_of_collectives(len(ranked), count))
    durations = lengths.transpose(0, 2, 1).reshape(len(operations_of), len(steps))
    kinds = {each.kind: each.kind.startswith("transfer") for each in operations_of}
    answer = Replay(operations_of).what_if(durations, even_durations(operations_of, durations, kinds))
    measured = np.array(
        [max(step.profile.step_ns for step in of_step.values()) for of_step in steps.values()]
    )
    ranks = list(ranked)
    yield from replay_rows(list(steps), measured, answer, [str(ranks[worker]) for worker in answer.slowest])


def _of_any(of_step: Mapping[int, TracedStep]) -> TracedStep:
    return next(iter(of_step.values()))


def _parts(step: TracedStep) -> list[int]:
    """Time before each collective and of the collective, in turn; then the time after the last."""
    parts, before = [], step.window[0]
    for each in step.collectives:
        begin = max(each.begin_ns, before)
        end = max(each.end_ns, begin)
        parts += [begin - before, end - begin]
        before = end
    return [*parts, max(step.window[1] - before, 0)]


def _chain_of_collectives(ranks: int, count: int) -> Iterator[Operation]:
    """The operations of a step in which all ranks meet in every collective, rank by rank."""
    length = 2 * count + 1
    for rank in range(ranks):
        for position in range(length):
            index = rank * length + position
            meets = position // 2 if position % 2 else None
            yield Operation(
                kind=f"{'transfer' if position % 2 else 'work'} {position // 2}",
                worker=rank,
                after=(index - 1,) if position else (),
                meets=meets,
            )
