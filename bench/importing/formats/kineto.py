"""A rank's trace as torch.profiler's `export_chrome_trace` writes it (Kineto), compressed or not.

Steps are the annotations `ProfilerStep#N` of the profiler's schedule, or `bench.step N` of our own traces; without them
the whole trace is one step. Rank, world size and backend are in the member `distributedInfo`, if the process group was
initialised. Computation and collectives are told apart by bench/measure/profile, as in our own profiled steps.
"""

from __future__ import annotations

import math
import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bench.common.errors import InputError
from bench.importing.formats.trace_events import EVENTS, Trace
from bench.importing.parse_cells import LARGEST_WORLD
from bench.measure.profile import collective_names
from bench.measure.profile.collective_names import Collective, GroupEvent, NcclKernel
from bench.measure.profile.intervals import Interval, minus, union, within
from bench.measure.profile.profiled_step import (
    Event,
    Launched,
    StepProfile,
    compute_intervals,
    device_windows,
    is_nccl,
    profile,
)

SLICES = 200
"""Slices of a step on the timeline: the page can draw no more of them."""
MOST_STEPS = 1_000
LARGEST_NUMBER = 2**31 - 1
_MARK = re.compile(r"(?:ProfilerStep#|bench\.step )(\d{1,10})", re.ASCII)
_RANK_IN_NAME = re.compile(r"rank[-_.]?(\d{1,7})(?![0-9])", re.IGNORECASE | re.ASCII)
_HOST_IN_NAME = re.compile(r"(?P<host>.+)_\d+\.\d{6,}\.pt\.trace\.json(?:\.gz)?")
"""torch.profiler.tensorboard_trace_handler: HOST_PID.TIME.pt.trace.json."""
_KINDS = {
    "kernel": "kernel", "Kernel": "kernel", "cpu_op": "cpu_op", "Operator": "cpu_op",
    "user_annotation": "user_annotation",
}  # fmt: skip
"""Kineto's categories, with the names of torch before 1.12."""
_LAUNCHES = ("cuda_runtime", "cuda_driver", "Runtime")
_OF_CALL = ("Collective name", "In msg nelems", "Out msg nelems", "dtype", "Process Group Name")
_LATEST_US = 9e15
"""Times are stored as whole nanoseconds of 64 bits; this is the year 2255."""
_LONGEST_STEP_NS = 10**15
"""Eleven days."""
_LONGEST_NAME = 200


@dataclass(frozen=True, kw_only=True)
class Slices:
    """Equal parts of a step: how long the rank did what in each, ns, [SLICES]."""

    compute_ns: Sequence[int]
    communication_ns: Sequence[int]
    exposed_communication_ns: Sequence[int]


@dataclass(frozen=True, kw_only=True)
class TracedStep:
    """A step of one rank."""

    number: int
    window: Interval
    profile: StepProfile
    slices: Slices
    collectives: tuple[Collective, ...]
    """Those that begin in it, in their order."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """A process group of torch, as its collectives describe it."""

    description: str
    ranks: int | None


@dataclass(frozen=True, kw_only=True)
class RankTrace:
    """One file."""

    name: str
    sha256: str
    rank: int | None
    """Null if neither the trace nor its name tells it."""
    world_size: int | None
    backend: str | None
    host: str | None
    """From the file's name, if tensorboard_trace_handler chose it."""
    device_name: str | None
    nccl: str | None
    on_device: bool
    """Whether it has kernels: the steps are then those of the device."""
    steps: tuple[TracedStep, ...]
    groups: Mapping[str, Group]
    """By torch's name of the group."""


def read(path: Path) -> RankTrace:
    """Raises InputError if the file cannot be read, is malformed or shows no work."""
    trace = Trace(path)
    about: dict[str, Any] = {}
    found = _Found(trace.name)
    for name, value in trace.members():
        if name == EVENTS:
            found.add(value)
        elif name in ("distributedInfo", "deviceProperties"):
            about[name] = value
    world = _about_world(about.get("distributedInfo"), trace.name)
    steps = tuple(found.steps(world.get("world_size") or 1))
    in_name = _RANK_IN_NAME.search(trace.name)
    host = _HOST_IN_NAME.fullmatch(trace.name)
    rank = world.get("rank")
    return RankTrace(
        name=trace.name,
        sha256=trace.sha256,
        rank=int(in_name[1]) if rank is None and in_name else rank,
        world_size=world.get("world_size"),
        backend=world.get("backend"),
        host=host["host"] if host else None,
        device_name=_device_name(about.get("deviceProperties")),
        nccl=world.get("nccl_version"),
        on_device=found.has_kernels,
        steps=steps,
        groups=found.groups,
    )


def text_of(value: object) -> str:
    """A name as it can be stored: at most 200 characters, without half characters and control characters."""
    text = str(value)[:_LONGEST_NAME].encode("utf-8", "replace").decode("utf-8")
    return "".join(sign if sign.isprintable() else " " for sign in text).strip()


def _about_world(value: object, name: str) -> dict[str, Any]:
    """`rank`, `world_size`, `backend` and `nccl_version`, as far as the trace tells them. Raises InputError."""
    if not isinstance(value, dict):
        return {}
    found: dict[str, Any] = {}
    for key, least in (("rank", 0), ("world_size", 1)):
        number = value.get(key)
        if number is None:
            continue
        if type(number) is not int or not least <= number <= LARGEST_WORLD:
            raise InputError(
                f"{name}: distributedInfo.{key} is {text_of(number)[:40]!r}, not a number of ranks"
            )
        found[key] = number
    if {"rank", "world_size"} <= found.keys() and found["rank"] >= found["world_size"]:
        raise InputError(
            f"{name}: distributedInfo: rank {found['rank']} in a world of {found['world_size']}: ranks begin at 0"
        )
    for key in ("backend", "nccl_version"):
        if isinstance(value.get(key), str) and (text := text_of(value[key])):
            found[key] = text
    return found


def _device_name(properties: object) -> str | None:
    named = (
        [one.get("name") for one in properties if isinstance(one, dict)]
        if isinstance(properties, list)
        else []
    )
    models = dict.fromkeys(text_of(name) for name in named if isinstance(name, str) and name)
    return ", ".join(models)[:_LONGEST_NAME] or None


@dataclass(kw_only=True)
class _Launches:
    """Calls on the host that start kernels: id and moment. Arrays, because there may be millions."""

    ids: array[int] = field(default_factory=lambda: array("q"))
    begins_ns: array[int] = field(default_factory=lambda: array("q"))

    def of(self, ids: Sequence[int]) -> list[int | None]:
        """The moment of each id; null if it is unknown."""
        known = np.frombuffer(self.ids, dtype=np.int64) if self.ids else np.zeros(0, np.int64)
        order = np.argsort(known, kind="stable")
        wanted = np.array(ids, dtype=np.int64)
        at = np.searchsorted(known, wanted, sorter=order)
        found: list[int | None] = []
        for one, place in zip(wanted, at, strict=True):
            there = place < len(order) and known[order[place]] == one
            found.append(self.begins_ns[int(order[place])] if there else None)
        return found


class _Found:
    """The events of a trace that count."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._count = 0
        self._events: list[Event] = []
        self._correlations: list[int] = []
        """Ids of the kernels in `_events`, in their order; -1: unknown."""
        self._streams: list[int] = []
        """Their streams."""
        self._nccl: list[NcclKernel] = []
        self._calls: dict[int, dict[str, str]] = {}
        self._messages: list[GroupEvent] = []
        self._launches = _Launches()
        self._marks: dict[int, Interval] = {}
        self.has_kernels = False
        self.groups: dict[str, Group] = {}

    def add(self, value: object) -> None:
        """Keep the event if it counts. Raises InputError if it is malformed."""
        self._count += 1
        if not isinstance(value, dict):
            raise self._fault("is no object")
        category, name = value.get("cat"), value.get("name")
        if not isinstance(category, str) or not isinstance(name, str) or value.get("ph") != "X":
            return
        args = value.get("args")
        args = args if isinstance(args, dict) else {}
        if category in _LAUNCHES:
            correlation = _id(args, "correlation")
            if correlation is not None and "aunch" in name:
                self._launches.ids.append(correlation)
                self._launches.begins_ns.append(self._interval(value)[0])
            return
        kind = _KINDS.get(category)
        if kind == "kernel":
            self._add_kernel(value, name, args)
        elif kind is not None:
            self._add_of_host(value, kind, name, args)

    def _add_kernel(self, value: Mapping[str, Any], name: str, args: Mapping[str, Any]) -> None:
        begin, end = self._interval(value)
        if not self.has_kernels:
            self.has_kernels = True
            self._events = []  # the host's no longer count
        correlation = _id(args, "correlation")
        self._correlations.append(-1 if correlation is None else correlation)
        stream = _id(args, "stream")
        self._streams.append(-1 if stream is None else stream)
        self._events.append(
            Event(name=name[:_LONGEST_NAME], kind="kernel", begin_ns=begin, end_ns=end, thread=0)
        )
        if is_nccl(name):
            external = _id(args, "External id", "external id")
            call_id = -1 if external is None else external
            self._add_call(call_id, args)
            self._nccl.append(
                NcclKernel(name=name[:_LONGEST_NAME], begin_ns=begin, end_ns=end, call_id=call_id)
            )

    def _add_of_host(self, value: Mapping[str, Any], kind: str, name: str, args: Mapping[str, Any]) -> None:
        if mark := _MARK.fullmatch(name):
            number = int(mark[1])
            if number > LARGEST_NUMBER:
                raise self._fault(f"{name!r}: no number of a step")
            self._marks.setdefault(number, self._interval(value))
            if len(self._marks) > MOST_STEPS:
                raise self._fault(f"has step {MOST_STEPS + 1:,}: profile fewer steps")
        elif name == "record_param_comms":
            external = _id(args, "External id", "external id")
            if external is not None:
                self._add_call(external, args)
        elif name.startswith(("gloo:", "c10d::")):
            begin, end = self._interval(value)
            self._messages.append(_group_event(name, begin, end, args))
        if not self.has_kernels:
            begin, end = self._interval(value)
            thread = value.get("tid")
            thread = thread if type(thread) is int else hash(str(thread))
            self._events.append(
                Event(name=name[:_LONGEST_NAME], kind=kind, begin_ns=begin, end_ns=end, thread=thread)
            )

    def _add_call(self, call_id: int, args: Mapping[str, Any]) -> None:
        """Torch's description of a collective, which is part of the kernel or of the operator that started it."""
        if call_id < 0 or not isinstance(args.get("Collective name"), str):
            return
        said = {key: text_of(args[key]) for key in _OF_CALL if key in args}
        for key in ("In msg nelems", "Out msg nelems"):
            said[key] = said[key] if re.fullmatch(r"\d{1,15}", said.get(key, ""), re.ASCII) else "0"
        self._calls.setdefault(call_id, said)
        if group := said.get("Process Group Name", "").strip('"'):
            ranks = args.get("Group size")
            self.groups.setdefault(
                group,
                Group(
                    description=text_of(args.get("Process Group Description", "")),
                    ranks=ranks if type(ranks) is int and 1 <= ranks <= LARGEST_WORLD else None,
                ),
            )

    def steps(self, ranks: int) -> Iterator[TracedStep]:
        """Every step of the trace. `ranks`: from how many a collective of gloo gathers."""
        computing = compute_intervals(self._events)
        collectives = sorted(
            [
                *collective_names.of_gloo(self._messages, ranks),
                *collective_names.of_nccl(self._nccl, self._calls),
            ],
            key=lambda each: each.begin_ns,
        )
        if not computing and not collectives:
            raise InputError(
                f"{self._name}: no kernel, operator or collective in its {self._count:,} events: it is no trace of "
                "torch.profiler, or nothing ran while it recorded"
            )
        begins = [each.begin_ns for each in collectives]
        for number, window in self._windows(computing, collectives):
            length = window[1] - window[0]
            if length > _LONGEST_STEP_NS:
                raise InputError(
                    f"{self._name}: step {number} takes {length / 1e9:,.0f} s: its times are not of one clock"
                )
            begun = tuple(collectives[bisect_left(begins, window[0]) : bisect_left(begins, window[1])])
            inside = _overlapping(computing, window)
            step = profile(window, inside, begun)
            if step.step_ns > 0:
                yield TracedStep(
                    number=number,
                    window=window,
                    profile=step,
                    slices=_slices(window, inside, begun),
                    collectives=begun,
                )

    def _windows(
        self, computing: Sequence[Interval], collectives: Sequence[Collective]
    ) -> list[tuple[int, Interval]]:
        if not self._marks:
            edges = [*computing, *((each.begin_ns, each.end_ns) for each in collectives)]
            return [(0, (min(begin for begin, _ in edges), max(end for _, end in edges)))]
        marks = sorted(self._marks.items())
        if not self.has_kernels:
            return marks
        launches = self._launches.of(self._correlations)
        return device_windows(
            marks,
            [
                Launched(launch_ns=at, stream=stream, interval=kernel.interval)
                for at, stream, kernel in zip(launches, self._streams, self._events, strict=True)
            ],
        )

    def _interval(self, value: Mapping[str, Any]) -> Interval:
        begin, length = self._microseconds(value, "ts"), self._microseconds(value, "dur")
        if length < 0:
            raise self._fault(f"dur is {length}, below zero")
        begin_ns = round(1_000 * begin)
        return begin_ns, begin_ns + round(1_000 * length)

    def _microseconds(self, value: Mapping[str, Any], name: str) -> float:
        number = value.get(name, 0)
        if type(number) in (int, float) and abs(number) <= _LATEST_US:
            return number  # type: ignore[no-any-return] # an int stays one: it has more digits
        raise self._fault(f"{name} is {text_of(number)[:40]!r}, not a number of microseconds")

    def _fault(self, what: str) -> InputError:
        return InputError(f"{self._name}: {EVENTS}[{self._count - 1}]: {what}")


def _id(args: Mapping[str, Any], *names: str) -> int | None:
    """The first number under one of the names; traces write ids as numbers or texts."""
    for name in names:
        value = args.get(name)
        if isinstance(value, str) and re.fullmatch(r"\d{1,18}", value, re.ASCII):
            return int(value)
        if type(value) is int and 0 <= value < 2**63:
            return value
    return None


def _group_event(name: str, begin_ns: int, end_ns: int, args: Mapping[str, Any]) -> GroupEvent:
    kinds = args.get("Input type")
    kinds = [kind for kind in kinds if isinstance(kind, str)] if isinstance(kinds, list) else []
    return GroupEvent(
        name=name[:_LONGEST_NAME],
        begin_ns=begin_ns,
        end_ns=end_ns,
        elements=tuple(_elements(args.get("Input Dims"))),
        has_shapes="Input Dims" in args,
        dtype=next((text_of(kind) for kind in kinds if kind and kind != "Scalar"), ""),
    )


def _elements(dims: object) -> Iterator[int]:
    """Elements of each tensor in `Input Dims`: `[[3, 4], [], [[2], [5]]]` -> 12, 2, 5."""
    if not isinstance(dims, list):
        return
    if dims and all(type(one) is int and 0 <= one < 2**40 for one in dims):
        elements = math.prod(dims)
        if elements < 2**53:
            yield elements
        return
    for one in dims:
        yield from _elements(one)


def _overlapping(disjoint: list[Interval], window: Interval) -> list[Interval]:
    """The intervals that overlap the window, of intervals in ascending order."""
    first = bisect_right(disjoint, window[0], key=lambda interval: interval[1])
    return disjoint[first : bisect_left(disjoint, window[1], key=lambda interval: interval[0])]


def _slices(window: Interval, computing: Sequence[Interval], collectives: Sequence[Collective]) -> Slices:
    busy = within([(each.begin_ns, each.end_ns) for each in collectives], window)
    inside = within(computing, window)
    edges = np.linspace(*window, SLICES + 1).round()
    return Slices(
        compute_ns=_in_slices(edges, inside),
        communication_ns=_in_slices(edges, busy),
        exposed_communication_ns=_in_slices(edges, minus(busy, inside)),
    )


def _in_slices(edges: np.ndarray[Any, np.dtype[np.float64]], covered: list[Interval]) -> list[int]:
    """Covered time between each pair of edges."""
    if not covered:
        return [0] * (len(edges) - 1)
    borders = np.array(union(covered), dtype=np.float64)
    zero = edges[0]  # large moments lose digits
    lengths = np.cumsum(borders[:, 1] - borders[:, 0])
    sums = np.empty(2 * len(borders))
    sums[0::2], sums[1::2] = np.concatenate([[0.0], lengths[:-1]]), lengths
    until = np.interp(edges - zero, borders.reshape(-1) - zero, sums)
    return [int(value) for value in np.diff(until.round())]
