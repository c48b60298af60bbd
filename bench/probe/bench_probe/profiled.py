"""The profiled steps, which follow the measured ones."""

from __future__ import annotations

import contextlib

import torch
from bench_probe import events

_TAKEN = "a profiler of the script is running: turn it off in the script"


class Profile:
    """Profiles some steps, and writes their events."""

    def __init__(self, job, scratch, device, first, is_taken):
        """`first`: number of the first profiled step. `is_taken`: whether a profiler of the script is running, which a
        second one would end with a crash."""
        self._job, self._scratch, self._device = job, scratch, device
        self._number, self._end = first, first + job["profiled"]
        self._profiler = self._annotation = None
        self._groups_before = {}
        self.groups = {}
        """By number of the profiled step: the process groups that it used."""
        self.problem = _TAKEN if is_taken else None
        self.is_done = is_taken or not job["profiled"]

    def next(self):
        """A step has ended: begin the next, or write the events of all."""
        if self.is_done:
            return
        try:
            self._next()
        except Exception as error:  # the script's own profiler may be running
            self.problem = f"{type(error).__name__}: {error}"
            self.abandon()

    def _next(self):
        if self._profiler is None:
            self._profiler = events.start(self._device.device)
        else:
            self._device.wait()
            self._annotation.__exit__(None, None, None)
            self.groups[self._number] = events.used_groups(self._groups_before)
            self._number += 1
        if self._number < self._end:
            self._groups_before = events.calls_of_groups()
            self._device.wait()  # the step before may still be running
            self._annotation = torch.profiler.record_function(f"bench.step {self._number}")
            self._annotation.__enter__()
            return
        name = f"rank{self._job['rank']}.json"
        trace = self._scratch / f"trace.{name}.gz" if self._job.get("trace") else None
        events.stop(self._profiler, self._scratch / f"events.{name}", trace)
        self.is_done = True

    def abandon(self):
        """End the profile, if one is running: the interpreter crashes if it ends with a running profiler."""
        if self._profiler is not None and not self.is_done:
            with contextlib.suppress(Exception):
                self._profiler.stop()
        self.is_done = True
