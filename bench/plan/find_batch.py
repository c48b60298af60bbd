"""`find_batch`: which micro-batches to try, what the outcomes mean, and what to measure then. Pure functions.

A pending run is a run whose micro-batch is not known yet. Probing runs, one per micro-batch, come first. The pending
runs of that size are then settled with the largest micro-batch that fits.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.records.run_spec import FindSpec, PlannedRun, RunSpec


@dataclass(frozen=True, kw_only=True)
class Probed:
    """How one probing run ended."""

    status: str
    is_final: bool
    """Whether the outcome decides about the micro-batch; an interrupted or skipped run does not."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """The result of a search."""

    largest: int | None
    """Largest micro-batch that fits; null if not even the smallest does."""
    too_large: int | None
    """Smallest micro-batch that does not fit; null if all that were tried fit."""


def size_of(run: PlannedRun) -> str:
    """The run id without its repeat: case, placement and threads."""
    return run.spec.run_id.rpartition(".r")[0]


def measured(plan: Iterable[PlannedRun]) -> tuple[PlannedRun, ...]:
    """The plan without probing runs."""
    return tuple(run for run in plan if not run.spec.probe)


def pending_sizes(plan: Iterable[PlannedRun]) -> list[PlannedRun]:
    """The first pending run of each size that is not skipped."""
    sizes: dict[str, PlannedRun] = {}
    for run in plan:
        if run.pending and run.skip_reason is None:
            sizes.setdefault(size_of(run), run)
    return list(sizes.values())


def micro_batches(find: FindSpec, wanted: int) -> list[int]:
    """Micro-batches in the order in which they are tried: doubled each time, the last one is the bound itself.

    `wanted`: examples per rank and optimizer step, the largest useful micro-batch; 0 if the suite gives no batch."""
    bound = min(find.largest, wanted) if wanted else find.largest
    first = min(find.smallest, bound)
    doubled = [first << exponent for exponent in range((bound // first).bit_length())]
    return doubled if doubled[-1] == bound else [*doubled, bound]


def accumulation(wanted: int, largest: int) -> int:
    """The fewest micro-batches, all of one size and none above `largest`, that make up `wanted` examples."""
    least = math.ceil(wanted / largest)
    low = [divisor for divisor in range(1, math.isqrt(wanted) + 1) if wanted % divisor == 0]
    return min(count for divisor in low for count in (divisor, wanted // divisor) if count >= least)


def outcome_of(sizes: Sequence[int], probed: Mapping[int, Probed]) -> Found | int:
    """The result, or the next micro-batch to try; `probed` has the outcomes so far."""
    largest = None
    for size in sizes:
        probe = probed.get(size)
        if probe is None or not probe.is_final:
            return size
        if probe.status != "ok":
            return Found(largest=largest, too_large=size)
        largest = size
    return Found(largest=largest, too_large=None)


def probe_of(run: PlannedRun, micro_batch: int, memory_limit_bytes: int | None) -> PlannedRun:
    """A probing run: a few steps at that micro-batch.

    If the search will divide the suite's batch, a step has two micro-batches: memory then holds the gradients of the
    first together with the activations of the second, as it will when measured. Otherwise a step has one."""
    spec = run.spec
    find = spec.find_batch
    assert find is not None, "only runs that ask for it are probed"
    accumulate = 2 if spec.batch_per_rank > micro_batch else 1
    measure = dataclasses.replace(
        spec.measure, warmup=1, steps=find.steps - 1, epochs=None, repeats=1, until=None, until_efficiency=None,
        max_repeats=None, validate_every=0, memory_limit_bytes=memory_limit_bytes,
    )  # fmt: skip
    probe = dataclasses.replace(
        _divided(spec, accumulate * micro_batch, accumulate),
        run_id=f"{size_of(run)}.find{micro_batch}.r0",
        repeat=0,
        measure=measure,
        probe=True,
    )
    return PlannedRun(spec=probe)


def settled(run: PlannedRun, largest: int) -> PlannedRun:
    """The run with the batch that the suite gives, accumulated from micro-batches that fit; else with the largest."""
    wanted = run.spec.batch_per_rank
    spec = _divided(run.spec, wanted or largest, accumulation(wanted, largest) if wanted else 1)
    return PlannedRun(spec=spec, skip_reason=run.skip_reason)


def candidates(spec: RunSpec) -> list[int]:
    """The micro-batches that may be tried before such a run."""
    assert spec.find_batch is not None, "only runs that ask for it are probed"
    return micro_batches(spec.find_batch, spec.batch_per_rank)


def _divided(spec: RunSpec, batch_per_rank: int, accumulate: int) -> RunSpec:
    return dataclasses.replace(
        spec,
        batch_per_rank=batch_per_rank,
        global_batch=batch_per_rank * spec.batch_groups,
        train=dataclasses.replace(spec.train, accumulate=accumulate),
    )
