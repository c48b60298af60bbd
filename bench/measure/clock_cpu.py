"""The host's clock: five stamps per step where the work is done when the call returns."""

from __future__ import annotations

import os
import resource
from time import perf_counter_ns
from typing import TYPE_CHECKING

from bench.measure.recorder import HEADER_WORDS, ROW_WORDS, UNKNOWN, StepFile

if TYPE_CHECKING:
    import torch

_MEMORY_EVERY_NS = 200_000_000


class CpuClock:
    """Stamps phase borders and stores a row per step. With accumulation a phase is the sum over micro-batches."""

    def __init__(self, file: StepFile) -> None:
        self._file = file
        self._ints = file.ints
        self._floats = file.floats
        self._row = 0
        self._start = self._last = self._data = self._forward = self._backward = 0
        self._barrier = 0
        self._memory_due = 0
        self._statm = os.open("/proc/self/statm", os.O_RDONLY)
        self._page_bytes = resource.getpagesize()

    def barrier(self) -> None:
        """The run's common zero: call right after the ranks' barrier."""
        self._barrier = perf_counter_ns()
        self._file.barrier(self._barrier)

    def start(self) -> None:
        self._start = self._last = perf_counter_ns()
        self._data = self._forward = self._backward = 0

    def data_done(self) -> None:
        now = perf_counter_ns()
        self._data += now - self._last
        self._last = now

    def forward_done(self) -> None:
        now = perf_counter_ns()
        self._forward += now - self._last
        self._last = now

    def backward_done(self) -> None:
        now = perf_counter_ns()
        self._backward += now - self._last
        self._last = now

    def step_done(self, loss: torch.Tensor, kind: int) -> None:
        """End of the step, then its row: what follows the stamp lies between two steps."""
        now = perf_counter_ns()
        ints = self._ints
        row = self._row
        at = HEADER_WORDS + row * ROW_WORDS
        ints[at] = self._start - self._barrier
        ints[at + 1] = self._data
        ints[at + 2] = self._forward
        ints[at + 3] = self._backward
        ints[at + 4] = now - self._last
        self._floats[at + 5] = loss.item()
        ints[at + 6] = self._resident_bytes() if now >= self._memory_due else UNKNOWN
        ints[at + 7] = UNKNOWN
        self._file.complete(row, kind)
        self._row = row + 1

    def _resident_bytes(self) -> int:
        # 2 us, so not in every step: the resident set of a training loop moves slowly
        self._memory_due = perf_counter_ns() + _MEMORY_EVERY_NS
        return int(os.pread(self._statm, 64, 0).split()[1]) * self._page_bytes

    def flush(self) -> None:
        """Every row is complete already."""
        os.close(self._statm)
