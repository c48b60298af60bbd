"""The host's clock for CPU training, where the work is done when a call returns; and the process's memory."""

from __future__ import annotations

import os
import re
import resource
from time import perf_counter_ns
from typing import TYPE_CHECKING

from bench.common.system_files import text_of
from bench.measure.recorder import UNKNOWN, StepFile

if TYPE_CHECKING:
    import torch


_MEMORY_EVERY_NS = 200_000_000


class CpuClock:
    """Takes time stamps at phase ends and stores a row per step."""

    mark = staticmethod(perf_counter_ns)
    """A phase's end, without a Python frame in between."""

    def __init__(self, file: StepFile, *, peaks: bool = False) -> None:
        """`peaks`: every row has the peak of private memory so far, for probing runs of find_batch."""
        self._file = file
        self._peaks = peaks
        self._barrier = 0
        self._memory_due = 0
        self._statm = os.open("/proc/self/statm", os.O_RDONLY)
        self._page_bytes = resource.getpagesize()

    def barrier(self) -> int:
        """Set the run's common zero; call it right after the ranks' barrier."""
        self._barrier = perf_counter_ns()
        self._file.barrier(self._barrier)
        return self._barrier

    def step_done(self, marks: list[int], loss: torch.Tensor, kind: int) -> None:
        """Store the row of a step; this runs between two steps."""
        start, end = marks[0], marks[-1]
        if len(marks) == 5:
            _, asked, loss_known, graded, _ = marks
            data, forward, backward, optimizer = (
                asked - start,
                loss_known - asked,
                graded - loss_known,
                end - graded,
            )
        else:  # several micro-batches: sums over them
            asked, loss_known, graded = (sum(marks[phase:-1:3]) for phase in (1, 2, 3))
            last = marks[-2]
            data, forward = asked - (start + graded - last), loss_known - asked
            backward, optimizer = graded - loss_known, end - last
        memory = self._resident_bytes() if end >= self._memory_due else UNKNOWN
        self._file.store(
            kind,
            start - self._barrier,
            data,
            forward,
            backward,
            optimizer,
            loss.item(),
            memory,
            UNKNOWN,
        )

    def _resident_bytes(self) -> int:
        if self._peaks:
            return peak_private_bytes()
        # It takes 2 us, so not in every step: the resident set of a training loop changes slowly.
        self._memory_due = perf_counter_ns() + _MEMORY_EVERY_NS
        return int(os.pread(self._statm, 64, 0).split()[1]) * self._page_bytes

    def abandon(self) -> None:
        """Nothing to do: every row is complete."""

    def flush(self) -> None:
        """Nothing to do: every row is complete."""

    def resume(self) -> None:
        """Nothing to do: a step's stamps do not depend on the time before it."""


_SIZE = re.compile(r"^(\w+):\s+(\d+) kB$", re.MULTILINE)


def status_bytes() -> dict[str, int]:
    """Every size in /proc/self/status by its name; VmData is what RLIMIT_DATA counts."""
    return {name: 1024 * int(size) for name, size in _SIZE.findall(text_of("/proc/self/status"))}


def peak_private_bytes() -> int:
    """Peak of this process's private memory: the kernel's peak of the resident set, without pages of files and shared
    memory, which no limit counts and which stay resident."""
    status = status_bytes()
    return status["VmHWM"] - status["RssFile"] - status["RssShmem"]
