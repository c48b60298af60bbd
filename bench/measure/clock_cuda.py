"""The device's clock: a chain of CUDA events at the ends of phases, read only after the device has passed them.

Nothing here waits for the device in measured steps. A step's row is completed when the event after it has passed, so a
rank that is killed loses at most the steps that were still queued on the device.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from itertools import pairwise
from time import monotonic, perf_counter_ns, sleep
from typing import Any

import torch

from bench.measure.recorder import StepFile

_LOSSES = 4096
"""Pinned slots for losses in transit to the host; more than the device's queue ever has steps."""
_RESOLVED_PER_STEP = 4
"""Steps resolved at the end of one step: enough to catch up, few enough to take constant time on the host."""
_ABANDON_S = 1.0
"""How long `abandon` waits for the steps before the failed one."""
_ABANDON_PAUSE_S = 1e-3


class _Step:
    __slots__ = ("allocated", "kind", "loss_at", "marks", "passed", "reserved")

    def __init__(
        self,
        marks: list[torch.cuda.Event],
        passed: torch.cuda.Event,
        kind: int,
        loss_at: int,
    ) -> None:
        self.marks = marks
        self.passed = passed
        self.kind = kind
        self.loss_at = loss_at
        self.allocated = self.reserved = 0


class CudaClock:
    """Has CpuClock's methods. Phases must end on the stream that is current when it is made. `start_ns` is a sum of
    differences between steps, because elapsed_time is float32 ms."""

    def __init__(self, file: StepFile, device: torch.device) -> None:
        self._file = file
        # Looking up a device's number and the current stream takes torch longer than recording an event.
        self._device_index = device.index
        self._stream = torch.cuda.current_stream(device)
        losses = torch.zeros(_LOSSES, dtype=torch.float32, pin_memory=True)
        self._losses = losses.unbind()
        self._read_losses = losses.numpy()
        """The same memory. NumPy reads an element ten times as fast as torch."""
        self._free: list[torch.cuda.Event] = []
        self._queued: deque[_Step] = deque()
        self._steps = 0
        self._origin: torch.cuda.Event | None = None
        self._origin_ns = 0

    def barrier(self) -> int:
        """Set the run's common zero; call it right after the ranks' barrier, with the device idle."""
        barrier_ns = perf_counter_ns()
        self._file.barrier(barrier_ns)
        self._origin = self.mark()
        torch.cuda.reset_peak_memory_stats(self._device_index)
        return barrier_ns

    def mark(self) -> torch.cuda.Event:
        """Mark a phase's end on the device."""
        event = self._free.pop() if self._free else torch.cuda.Event(enable_timing=True)
        event.record(self._stream)
        return event

    def step_done(
        self,
        marks: list[torch.cuda.Event],
        loss: torch.Tensor,
        kind: int,
    ) -> None:
        """Queue a step to be resolved once the device has passed it."""
        loss_at = self._steps % _LOSSES
        self._steps += 1
        # After the step's last event, so not part of the step; to pinned memory, so that it does not wait.
        self._losses[loss_at].copy_(loss, non_blocking=True)
        step = _Step(marks, self.mark(), kind, loss_at)
        stats: dict[str, Any] = torch.cuda.memory_stats_as_nested_dict(self._device_index)
        step.allocated = stats["allocated_bytes"]["all"]["peak"]
        step.reserved = stats["reserved_bytes"]["all"]["peak"]
        torch.cuda.reset_peak_memory_stats(self._device_index)
        self._queued.append(step)
        self._resolve_passed()

    def abandon(self) -> None:
        """Complete the steps that the device passes within a second.

        The wait is bounded, because a collective whose peer is gone may never return. Errors are ignored: after an
        error that ended the device's context every call raises it again, which would hide the first error."""
        deadline = monotonic() + _ABANDON_S
        with suppress(RuntimeError):
            while self._queued and monotonic() < deadline:
                self._resolve_passed()
                sleep(_ABANDON_PAUSE_S)

    def flush(self) -> None:
        """Wait for the device and complete every row; never call it in a step."""
        torch.cuda.synchronize(self._device_index)
        while self._queued:
            self._resolve(self._queued.popleft())

    def resume(self) -> None:
        """Reset the memory peaks for the next step. The chain of events goes on; the pause is one long difference."""
        torch.cuda.reset_peak_memory_stats(self._device_index)

    def _resolve_passed(self) -> None:
        for _ in range(_RESOLVED_PER_STEP):
            if not self._queued or not self._queued[0].passed.query():
                return
            self._resolve(self._queued.popleft())

    def _resolve(self, step: _Step) -> None:
        marks = step.marks
        assert self._origin is not None, "barrier() comes before the first step"
        self._origin_ns += _elapsed_ns(self._origin, marks[0])
        spans = [_elapsed_ns(earlier, later) for earlier, later in pairwise(marks)]
        # each micro-batch has data, forward and backward
        data, forward, backward = (sum(spans[phase:-1:3]) for phase in range(3))
        loss = float(self._read_losses[step.loss_at])
        self._free += [self._origin, *marks[1:], step.passed]
        self._origin = marks[0]
        self._file.store(  # last, because it may raise; later steps are resolved nevertheless
            step.kind,
            self._origin_ns,
            data,
            forward,
            backward,
            spans[-1],
            loss,
            step.allocated,
            step.reserved,
        )


def _elapsed_ns(start: torch.cuda.Event, end: torch.cuda.Event) -> int:
    milliseconds: float = start.elapsed_time(end)
    return round(milliseconds * 1e6)
