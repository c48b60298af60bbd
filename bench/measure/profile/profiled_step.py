"""Figures of a profiled step, from its events: time of communication, of computation, and of communication alone.

An event comes from torch's profiler (Kineto); this module does not need torch. On a GPU the device's activities count:
kernels whose name begins with `nccl` are collectives, all other kernels compute, copies are neither. On a CPU,
collectives are the events of gloo's threads (`gloo:all_reduce`), which include waiting for other ranks. The operators
of all other threads compute, such as arithmetic or copying gradients into buckets. The time in which the training
thread waits for gloo or runs Python is in no operator.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from bench.measure.profile.collective_names import Collective
from bench.measure.profile.intervals import Interval, minus, total, union, within
from bench.measure.rank_tables import UNKNOWN

K = TypeVar("K", bound=Hashable)
_COMPILED = "## Call CompiledFxGraph"
"""torch.compile's mark around its code, whose loops on a CPU are in no operator."""
_OPERATOR = re.compile(r"(?!c10d|_c10d)\w+::\w+")
"""`aten::mm`, `fsdp::...` or another library's; `c10d::...` are requests for collectives."""
_POINT_TO_POINT = ("gloo:send", "gloo:recv")
_REDUCER = "torch::distributed::reducer::"
"""DDP's copies of gradients into its buckets."""


MARK = "bench.step "
"""Begins the name of the annotation around a profiled step."""
KINDS = ("cpu_op", "user_annotation", "kernel")
"""Kineto's kinds of the events that profiles need."""
_NO_KERNELS = "torch's profiler recorded no kernels: another program may use CUPTI, or the driver is too old"


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """One activity of a thread or of a device."""

    name: str
    kind: str
    """Kineto's kind: cpu_op, user_annotation, kernel, gpu_memcpy, ..."""
    begin_ns: int
    end_ns: int
    thread: int
    """Thread of the host; meaningless on a device."""

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
    """By operation."""
    groups: dict[str | None, OpProfile]
    """By torch's name of the process group; null: not known."""

    def rows(self, number: int) -> dict[str, list[tuple[Any, ...]]]:
        """Rows of `profile` and `profile_collectives`, as bench/measure/rank_tables.py stores them."""
        times = (self.step_ns, self.communication_ns, self.exposed_communication_ns, self.compute_ns)
        collectives = [
            (
                number,
                op,
                each.calls,
                UNKNOWN if each.message_bytes is None else each.message_bytes,
                each.time_ns,
            )
            for op, each in self.collectives.items()
        ]
        return {"profile": [(number, *times)], "profile_collectives": collectives}


@dataclass(frozen=True, kw_only=True)
class OpProfile:
    """Collectives of one kind, or of one process group, in a step."""

    calls: int
    message_bytes: int | None
    """Bytes of all calls together; null if those of one call are unknown."""
    time_ns: int
    """Union of their intervals."""
    exposed_ns: int
    """Part of time_ns in which the rank computed nothing."""


def profile(window: Interval, compute: Sequence[Interval], collectives: Sequence[Collective]) -> StepProfile:
    """The figures of the step in `window`. A collective belongs to the step in which it begins; only times inside the
    window count. (A collective can seem to reach into the next step if gloo's thread has delivered the result and loses
    its core before it records the end.)"""
    begun = [each for each in collectives if window[0] <= each.begin_ns < window[1]]
    busy = within([(each.begin_ns, each.end_ns) for each in begun], window)
    computing = within(compute, window)
    return StepProfile(
        step_ns=window[1] - window[0],
        communication_ns=total(busy),
        exposed_communication_ns=total(minus(busy, computing)),
        compute_ns=total(computing),
        collectives=dict(sorted(_profiles(begun, lambda each: each.op, window, computing).items())),
        groups=_profiles(begun, lambda each: each.group, window, computing),
    )


def _profiles(
    begun: Sequence[Collective],
    key: Callable[[Collective], K],
    window: Interval,
    computing: list[Interval],
) -> dict[K, OpProfile]:
    """The profile of the collectives with each key."""
    grouped: dict[K, list[Collective]] = {}
    for each in begun:
        grouped.setdefault(key(each), []).append(each)
    return {name: _op_profile(calls, window, computing) for name, calls in grouped.items()}


def _op_profile(calls: list[Collective], window: Interval, computing: list[Interval]) -> OpProfile:
    busy = within([(each.begin_ns, each.end_ns) for each in calls], window)
    sizes = [each.message_bytes for each in calls if each.message_bytes is not None]
    return OpProfile(
        calls=sum(each.calls for each in calls),
        message_bytes=sum(sizes) if len(sizes) == len(calls) else None,
        time_ns=total(busy),
        exposed_ns=total(minus(busy, computing)),
    )


def compute_intervals(events: Sequence[Event]) -> list[Interval]:
    """Times of computation: the device's if there are kernels, else those of the host's operators."""
    kernels = [event for event in events if event.kind == "kernel"]
    if kernels:
        return union(event.interval for event in kernels if not is_nccl(event.name))
    # a thread of the training sends and receives, and gloo's own threads carry out the other operations
    gloo_threads = {
        event.thread
        for event in events
        if event.name.startswith("gloo:") and not event.name.startswith(_POINT_TO_POINT)
    }
    return union(event.interval for event in events if event.thread not in gloo_threads and _computes(event))


def problem_of(device_type: str, kinds: Collection[str]) -> str | None:
    """Why events of these kinds do not show the work of the device; null if they do. Without a GPU's kernels, a step
    would seem to communicate nothing."""
    return _NO_KERNELS if device_type == "cuda" and "kernel" not in kinds else None


def first_problem(ranks: Iterable[Mapping[str, Any]]) -> str | None:
    """The first `profile_problem` among facts of ranks; null if none has one."""
    return next(filter(None, (facts.get("profile_problem") for facts in ranks)), None)


def is_nccl(name: str) -> bool:
    """Whether a kernel of that name is a collective."""
    return name.startswith("nccl")


def _computes(event: Event) -> bool:
    if event.kind == "user_annotation":
        return event.name.startswith(_COMPILED)
    is_operator = _OPERATOR.fullmatch(event.name) is not None or event.name.startswith(_REDUCER)
    return event.kind == "cpu_op" and is_operator


def windows(events: Sequence[Event], mark: str) -> Iterator[tuple[int, Interval]]:
    """Number and interval of the steps with an annotation `MARK NUMBER`."""
    for event in events:
        if event.kind == "user_annotation" and event.name.startswith(mark):
            yield int(event.name[len(mark) :]), event.interval
