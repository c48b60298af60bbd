"""Marks in time: of the host for a training on a CPU, of the device for one on a GPU, so that nothing waits for it."""

from __future__ import annotations

import time

import torch


class HostTime:
    """Marks for training on a CPU, where the work is done when a call returns."""

    mark = staticmethod(time.perf_counter_ns)

    def elapsed_ns(self, begin, end):
        return end - begin

    def has_passed(self, _mark):
        return True


class DeviceTime:
    """Marks in the order of a CUDA device's work."""

    def __init__(self, device):
        self._device = device

    def mark(self):
        event = torch.cuda.Event(enable_timing=True)
        event.record(torch.cuda.current_stream(self._device))
        return event

    def elapsed_ns(self, begin, end):
        return round(begin.elapsed_time(end) * 1e6)

    def has_passed(self, mark):
        return mark.query()


def apart(spans, elapsed):
    """The spans that do not begin inside of the one before."""
    found = []
    for span in spans:
        if not any(elapsed(other[0], span[0]) >= 0 and elapsed(span[0], other[1]) > 0 for other in found):
            found.append(span)
    return found
