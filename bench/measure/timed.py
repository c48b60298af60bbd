"""Times an operation many times; keeps every iteration, without statistics."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter_ns
from typing import Any

import numpy as np
import torch

Times = np.ndarray[Any, np.dtype[np.int64]]


def timed(operation: Callable[[], object], iterations: int, device: torch.device) -> Times:
    """[iterations] nanoseconds of each call, in order.

    On CUDA, times are between events on the current stream, which are read only after the last call: the host never
    waits in between, so that launches hide behind the device's work."""
    with no_garbage_collection():
        if device.type == "cuda":
            return _timed_by_events(operation, iterations, device)
        times = np.empty(iterations, np.int64)
        for iteration in range(iterations):
            begun = perf_counter_ns()
            operation()
            times[iteration] = perf_counter_ns() - begun
        return times


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Python collects no garbage in the block: a collection would be part of some iteration's time."""
    collects_garbage = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects_garbage:
            gc.enable()


def _timed_by_events(operation: Callable[[], object], iterations: int, device: torch.device) -> Times:
    pairs = [
        (torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True))
        for _ in range(iterations)
    ]
    for begun, ended in pairs:
        begun.record()
        operation()
        ended.record()
    torch.cuda.synchronize(device)
    return np.array([round(begun.elapsed_time(ended) * 1e6) for begun, ended in pairs], np.int64)
