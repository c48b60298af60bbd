"""The device that a script trains on: marks in time, the memory that a step took, and its losses."""

from __future__ import annotations

import operator
import os
import time
from pathlib import Path

import torch

_MEMORY_EVERY_NS = 200_000_000
_LOSSES = 4096
"""Pinned places for losses on their way to the host; more than the steps that a device has in its queue."""


class Cpu:
    """A CPU, where work is done when the call returns."""

    device = torch.device("cpu")
    name = None
    mark = staticmethod(time.perf_counter_ns)
    elapsed_ns = staticmethod(operator.sub)
    """Nanoseconds from the second mark to the first."""

    def __init__(self):
        self._memory_due_ns = 0

    def read(self, step):
        """Read what is known once the step has ended."""
        if step.end > self._memory_due_ns:
            self._memory_due_ns = step.end + _MEMORY_EVERY_NS
            with Path("/proc/self/statm").open() as statm:
                step.allocated = int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def has_passed(self, _step):
        return True

    def wait(self):
        """Wait for the work that was given to the device."""


class Cuda:
    """A GPU of NVIDIA. Marks are events in its work, so that nothing waits for it."""

    def __init__(self, device):
        self.device = device
        # torch takes longer to find the number of a device than to record an event
        self._index = device.index
        self.name = torch.cuda.get_device_name(device)
        self._losses = torch.zeros(_LOSSES, dtype=torch.float32, device="cpu", pin_memory=True)
        self._read = 0
        torch.cuda.reset_peak_memory_stats(device)

    def mark(self):
        event = torch.cuda.Event(enable_timing=True)
        event.record(torch.cuda.current_stream(self._index))
        return event

    @staticmethod
    def elapsed_ns(end, begin):
        return round(begin.elapsed_time(end) * 1e6)

    def read(self, step):
        peaks = torch.cuda.memory_stats_as_nested_dict(self._index)
        step.allocated = peaks["allocated_bytes"]["all"]["peak"]
        step.reserved = peaks["reserved_bytes"]["all"]["peak"]
        torch.cuda.reset_peak_memory_stats(self._index)
        on_device = [
            one.to(self.device, torch.float32) for one in step.losses if isinstance(one, torch.Tensor)
        ]
        if on_device:  # to pinned memory, so that nothing waits; the mark after it says when it has arrived
            total = on_device[0]
            if len(on_device) > 1:
                total = torch.stack([one.reshape(()) for one in on_device]).sum()
            place = self._losses[self._read % _LOSSES]
            place.copy_(total.reshape(()), non_blocking=True)
            step.losses = [place, *(one for one in step.losses if not isinstance(one, torch.Tensor))]
            self._read += 1
        step.passed = self.mark()

    def has_passed(self, step):
        # a mark is on the stream that was current, for example one that fetches batches
        marks = [step.passed, step.end, *(mark for span in step.spans for mark in span[1:])]
        return all(mark.query() for mark in (*marks, *(mark for span in step.outside for mark in span[1:])))

    def wait(self):
        torch.cuda.synchronize(self.device)
