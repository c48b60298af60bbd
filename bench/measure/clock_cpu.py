"""The host's clock: five stamps per step where the work is done when the call returns."""

from __future__ import annotations

import os
import resource
from time import perf_counter_ns
from typing import TYPE_CHECKING

from bench.measure.process_memory import peak_private_bytes
from bench.measure.recorder import UNKNOWN, StepFile

if TYPE_CHECKING:
    import torch

_MEMORY_EVERY_NS = 200_000_000


class CpuClock:
    """Stamps phase borders and stores a row per step."""

    mark = staticmethod(perf_counter_ns)
    """A phase border; no frame of ours in between."""

    def __init__(self, file: StepFile, *, peaks: bool = False) -> None:
        """`peaks`: every row has the peak of private memory so far, as a probing run of find_batch wants it."""
        self._file = file
        self._peaks = peaks
        self._barrier = 0
        self._memory_due = 0
        self._statm = os.open("/proc/self/statm", os.O_RDONLY)
        self._page_bytes = resource.getpagesize()

    def barrier(self) -> int:
        """The run's common zero: call right after the ranks' barrier."""
        self._barrier = perf_counter_ns()
        self._file.barrier(self._barrier)
        return self._barrier

    def step_done(self, marks: list[int], loss: torch.Tensor, kind: int) -> None:
        """The row of a step: what is done here lies between two steps."""
        if len(marks) == 5:
            start, data, forward, backward, end = marks
            last = backward
            before = start
        else:  # several micro-batches: sums over them
            start, end, last = marks[0], marks[-1], marks[-2]
            data, forward, backward = (sum(marks[phase:-1:3]) for phase in (1, 2, 3))
            before = start + backward - last
        memory = self._resident_bytes() if end >= self._memory_due else UNKNOWN
        self._file.store(
            kind,
            start - self._barrier,
            data - before,
            forward - data,
            backward - forward,
            end - last,
            loss.item(),
            memory,
            UNKNOWN,
        )

    def _resident_bytes(self) -> int:
        if self._peaks:
            return peak_private_bytes()
        # 2 us, so not in every step: the resident set of a training loop moves slowly
        self._memory_due = perf_counter_ns() + _MEMORY_EVERY_NS
        return int(os.pread(self._statm, 64, 0).split()[1]) * self._page_bytes

    def abandon(self) -> None:
        """Every row is complete already."""

    def flush(self) -> None:
        """Every row is complete already."""

    def resume(self) -> None:
        """The next step's stamps know nothing of what came before them."""
