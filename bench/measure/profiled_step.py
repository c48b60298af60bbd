"""From the events of a profiled step to its figures: how long a rank communicated, computed, and did only the former.

An event is what torch's profiler (Kineto) saw, without torch. On a GPU the device's own activities count: kernels whose
name begins with `nccl` are collectives, all other kernels compute, copies are neither. On a CPU a collective is
what gloo's threads say of it (`gloo:all_reduce`), from its begin there to its end, waiting for the others included;
compute is what operators of any other thread do, be it arithmetic or the copying of gradients into buckets. The time
in which the training thread waits for gloo, and Python's own, is in no operator.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.measure.collective_names import Collective
from bench.measure.intervals import Interval, minus, total, union, within

_COMPILED = "## Call CompiledFxGraph"
"""How torch.compile marks that its code runs: on a CPU its loops are in no operator."""
_OPERATOR = re.compile(r"(?!c10d|_c10d)\w+::\w+")
"""`aten::mm`, a library's own, `fsdp::...`; what asks for a collective is `c10d::...`."""
_REDUCER = "torch::distributed::reducer::"
"""DDP's copies of gradients into its buckets."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """One activity of a thread or of a device."""

    name: str
    kind: str
    """Kineto's: cpu_op, user_annotation, kernel, gpu_memcpy, ..."""
    begin_ns: int
    end_ns: int
    thread: int
    """Of the host; without meaning on a device."""

    @property
    def interval(self) -> Interval:
        return self.begin_ns, self.end_ns


@dataclass(frozen=True, kw_only=True)
class StepProfile:
    """A profiled step of one rank; all times in ns."""

    step_ns: int
    communication_ns: int
    exposed_communication_ns: int
    compute_ns: int
    collectives: dict[str, OpProfile]
    """By kind of operation."""


@dataclass(frozen=True, kw_only=True)
class OpProfile:
    """Collectives of one kind in a step."""

    calls: int
    message_bytes: int | None
    """Of all calls together; null where one call's are not known."""
    time_ns: int
    """Union of their intervals."""


def profile(window: Interval, compute: Sequence[Interval], collectives: Sequence[Collective]) -> StepProfile:
    """The figures of the step that took `window`. A collective belongs to the step in which it begins; of its time,
    and of compute, what lies in the window counts. (One of the step before can seem to reach into it: where gloo's
    thread gave the result away and then lost its core before it said that it was done.)"""
    begun = [each for each in collectives if window[0] <= each.begin_ns < window[1]]
    busy = within([(each.begin_ns, each.end_ns) for each in begun], window)
    computing = within(compute, window)
    return StepProfile(
        step_ns=window[1] - window[0],
        communication_ns=total(busy),
        exposed_communication_ns=total(minus(busy, computing)),
        compute_ns=total(computing),
        collectives={op: _of_op(op, begun, window) for op in sorted({each.op for each in begun})},
    )


def _of_op(op: str, collectives: list[Collective], window: Interval) -> OpProfile:
    calls = [each for each in collectives if each.op == op]
    sizes = [each.message_bytes for each in calls if each.message_bytes is not None]
    return OpProfile(
        calls=sum(each.calls for each in calls),
        message_bytes=sum(sizes) if len(sizes) == len(calls) else None,
        time_ns=total(within([(each.begin_ns, each.end_ns) for each in calls], window)),
    )


def compute_intervals(events: Sequence[Event], collective_threads: frozenset[int]) -> list[Interval]:
    """When anything was computed: on the device where there are kernels, else by operators of the host."""
    kernels = [event for event in events if event.kind == "kernel"]
    if kernels:
        return union(event.interval for event in kernels if not is_nccl(event.name))
    return union(
        event.interval for event in events if event.thread not in collective_threads and _computes(event)
    )


def is_nccl(name: str) -> bool:
    """Whether a kernel of that name is a collective."""
    return name.startswith("nccl")


def _computes(event: Event) -> bool:
    if event.kind == "user_annotation":
        return event.name.startswith(_COMPILED)
    is_operator = _OPERATOR.fullmatch(event.name) is not None or event.name.startswith(_REDUCER)
    return event.kind == "cpu_op" and is_operator


def windows(events: Sequence[Event], mark: str) -> Iterator[tuple[int, Interval]]:
    """The steps that were marked by annotations `MARK NUMBER`, and when they were."""
    for event in events:
        if event.kind == "user_annotation" and event.name.startswith(mark):
            yield int(event.name[len(mark) :]), event.interval
