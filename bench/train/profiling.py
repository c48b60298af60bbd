"""Profiled steps: turns the events of torch's profiler into rows and, with --trace, a Chrome trace.

This module is imported only after the last measured step.
"""

from __future__ import annotations

import gzip
import math
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.profiler import ProfilerActivity, record_function

from bench.measure import rank_tables
from bench.measure.profile import collective_names
from bench.measure.profile.collective_names import GroupEvent, NcclKernel, RequestedMessage
from bench.measure.profile.profiled_step import (
    KINDS,
    MARK,
    Event,
    StepProfile,
    compute_intervals,
    is_nccl,
    problem_of,
    profile,
    windows,
)
from bench.measure.rank_tables import TABLES, UNKNOWN, Writer
from bench.probe.bench_probe import kineto

_GZIP_LEVEL = 6
"""Level 9 takes three times as long for 1 % less."""


class Profiling:
    """One rank's profiled steps."""

    def __init__(
        self,
        scratch: Path,
        writer: Writer,
        device: torch.device,
        *,
        gathering_ranks: int,
        trace: bool,
        sent: Sequence[RequestedMessage],
        groups: Mapping[str, tuple[str, int]] | None,
    ) -> None:
        """`gathering_ranks`: the number of ranks over which parameters are sharded, if they are. `sent`: the messages
        of a step in their order, and `groups`: description and ranks of each process group, by torch's name; if they
        are known, there are rows for each group."""
        self._sent = sent
        self._groups = groups or {}
        self._gathering_ranks = gathering_ranks
        self._scratch = scratch
        self._writer = writer
        self._device = device
        self._trace = trace
        self.problem: str | None = None
        """Why there are no rows; null until the recording has ended."""

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Context around all steps, marked or not; writes the rows at its end."""
        activities = [ProfilerActivity.CPU]
        if self._device.type == "cuda":
            activities.append(ProfilerActivity.CUDA)
        # shapes say how many bytes a collective moved
        profiler = torch.profiler.profile(activities=activities, record_shapes=True)
        profiler.start()
        try:
            yield
        finally:
            profiler.stop()
        assert profiler.profiler is not None
        assert profiler.profiler.kineto_results is not None
        events = profiler.profiler.kineto_results.events()
        trace = None
        if self._trace or kineto.needs_trace(events):  # torch writes it only once
            trace = self._scratch / f"trace.rank{self._writer.rank}.json"
            profiler.export_chrome_trace(str(trace))
        self._write(events, trace)
        if trace is not None and self._trace:
            _compress(trace)
        if trace is not None:
            trace.unlink()

    @contextmanager
    def step(self, number: int) -> Iterator[None]:
        """Context around one step; on a GPU it contains the step's kernels, and none of the step before."""
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        with record_function(f"{MARK}{number}"):
            yield
            if self._device.type == "cuda":
                torch.cuda.synchronize(self._device)

    def _write(self, recorded: list[Any], trace: Path | None) -> None:
        annotations = kineto.annotations_of(recorded)
        kinds = [kineto.kind_of(each, annotations) for each in recorded]
        events = [_event(each, kind) for each, kind in zip(recorded, kinds, strict=True) if kind in KINDS]
        self.problem = problem_of(self._device.type, {event.kind for event in events})
        if self.problem is not None:
            return
        messages = [_group_event(each) for each in recorded if each.name().startswith(("gloo:", "c10d::"))]
        collectives = [
            *collective_names.of_gloo(messages, self._gathering_ranks),
            *collective_names.of_nccl(_nccl_kernels(recorded, kinds), kineto.calls_of(recorded, trace)),
        ]
        compute = compute_intervals(events)
        for number, window in sorted(windows(events, MARK)):
            begun = [each for each in collectives if window[0] <= each.begin_ns < window[1]]
            step = profile(window, compute, collective_names.with_groups(begun, self._sent))
            for table, rows in step.rows(number).items():
                self._rows(table, rows)
            self._rows("profile_groups", list(self._of_groups(number, step)))

    def _of_groups(self, number: int, step: StepProfile) -> Iterator[tuple[Any, ...]]:
        for name, each in step.groups.items():
            if name is not None and name in self._groups:
                description, ranks = self._groups[name]
                sent = UNKNOWN if each.message_bytes is None else each.message_bytes
                yield number, name, description, ranks, each.calls, sent, each.time_ns, each.exposed_ns

    def _rows(self, table: str, rows: list[tuple[Any, ...]]) -> None:
        if rows:
            rank_tables.append(self._scratch, table, self._writer, np.array(rows, dtype=TABLES[table]))


def _compress(trace: Path) -> None:
    """The compressed trace gets its final name only once it is complete."""
    small = trace.with_name(f".{trace.name}.gz")
    with trace.open("rb") as source, gzip.open(small, "wb", _GZIP_LEVEL) as target:
        shutil.copyfileobj(source, target)
    small.rename(trace.with_name(f"{trace.name}.gz"))


def _event(event: Any, kind: str) -> Event:
    return Event(
        name=event.name(),
        kind=kind,
        begin_ns=event.start_ns(),
        end_ns=event.end_ns(),
        thread=event.start_thread_id(),
    )


def _group_event(event: Any) -> GroupEvent:
    shapes = [shape for shape in event.shapes() if shape]
    return GroupEvent(
        name=event.name(),
        begin_ns=event.start_ns(),
        end_ns=event.end_ns(),
        elements=tuple(math.prod(shape) for shape in shapes),
        dtype=next((dtype for dtype in event.dtypes() if dtype and dtype != "Scalar"), ""),
    )


def _nccl_kernels(recorded: list[Any], kinds: list[str | None]) -> Iterator[NcclKernel]:
    for each, kind in zip(recorded, kinds, strict=True):
        if kind == "kernel" and is_nccl(each.name()):
            yield NcclKernel(
                name=each.name(),
                begin_ns=each.start_ns(),
                end_ns=each.end_ns(),
                call_id=each.linked_correlation_id(),
            )
