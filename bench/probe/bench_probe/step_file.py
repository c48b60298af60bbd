"""The step recorder: a preallocated, memory-mapped file of fixed-width rows, one per step and rank.

A row takes one store per value, without system calls, locks or kept objects. The store of `kind` completes the row, so
every completed row can be read however the rank dies. The file is on node-local disk; bench/measure/recorder.py reads
it. This module needs only the standard library: it also runs inside a user's script (bench/probe).
"""

from __future__ import annotations

import json
import mmap
import os
from pathlib import Path
from typing import Any

MAGIC = 0x32505453_48434E42  # 'BNCHSTP2', little-endian
HEADER_WORDS = 512
"""64-bit words before the first row: eight numbers, then the run's identity as JSON."""
TEXT_OFFSET_BYTES = 64
FIELDS = (
    "start_ns",
    "step_ns",
    "data_ns",
    "forward_ns",
    "backward_ns",
    "optimizer_ns",
    "loss",
    "memory_allocated_bytes",
    "memory_reserved_bytes",
    "kind",
)
"""The words of a row, in order. `loss` has a float64's bits; `kind` is written last, 0 means not completed."""
ROW_WORDS = len(FIELDS)
LEAST_STEPS = 5
"""Measured steps of a script that are enough for a run, if it ends by itself and more were asked for."""
WARMUP, MEASURED, PROFILED, NO_SYNC = 1, 2, 3, 4
"""Values of `kind`."""
UNKNOWN = -1
"""A memory reading that was not taken."""
UNKNOWN_LOSS = -3.4028234663852886e38
"""The lowest float32: a step of a rank that computes no loss, such as the first stage of a pipeline."""
UNKNOWN_PHASE = -(2**63)
"""A phase that is not known."""
H_MAGIC, H_CAPACITY, H_ROWS, H_BARRIER_NS, H_TEXT_BYTES = range(5)
"""Places of the header's numbers."""


class StepFile:
    """The writing side, in the rank."""

    def __init__(self, path: Path, capacity: int, identity: dict[str, Any], further: int = 0) -> None:
        """Allocate space for `capacity` training rows and `further` rows after them. If the disk is full this raises
        OSError, before the run."""
        text = json.dumps(identity).encode()
        if len(text) > HEADER_WORDS * 8 - TEXT_OFFSET_BYTES:
            raise ValueError(f"identity of {len(text)} bytes does not fit the recorder's header")
        size = (HEADER_WORDS + (capacity + further) * ROW_WORDS) * 8
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.posix_fallocate(fd, 0, size)  # a full disk under a memory map is a SIGBUS
            self._map = mmap.mmap(fd, size)
        except OSError as error:
            path.unlink()
            reason = (
                f"{error.strerror} for {size:,} bytes of step rows; set TMPDIR to a folder on another disk"
            )
            raise OSError(error.errno, reason, str(path)) from error
        finally:
            os.close(fd)
        self._map[TEXT_OFFSET_BYTES : TEXT_OFFSET_BYTES + len(text)] = text
        self._ints = memoryview(self._map).cast("q")
        self._floats = memoryview(self._map).cast("d")
        self._ints[H_CAPACITY] = capacity
        self._ints[H_TEXT_BYTES] = len(text)
        self._ints[H_MAGIC] = MAGIC
        self._at = HEADER_WORDS
        self.rows = 0
        """Number of completed rows."""

    def barrier(self, now_ns: int) -> None:
        """Store the run's common zero, by this rank's monotonic clock."""
        self._ints[H_BARRIER_NS] = now_ns

    def store(
        self,
        kind: int,
        start_ns: int,
        data_ns: int,
        forward_ns: int,
        backward_ns: int,
        optimizer_ns: int,
        loss: float,
        memory_allocated_bytes: int,
        memory_reserved_bytes: int,
        step_ns: int | None = None,
    ) -> None:
        """Append a row. `step_ns` null: the sum of the phases.

        Single stores: right after a step, struct.pack_into's cold code takes twice as long."""
        at, ints = self._at, self._ints
        ints[at] = start_ns
        ints[at + 1] = data_ns + forward_ns + backward_ns + optimizer_ns if step_ns is None else step_ns
        ints[at + 2] = data_ns
        ints[at + 3] = forward_ns
        ints[at + 4] = backward_ns
        ints[at + 5] = optimizer_ns
        self._floats[at + 6] = loss
        ints[at + 7] = memory_allocated_bytes
        ints[at + 8] = memory_reserved_bytes
        ints[at + 9] = kind
        self._at = at + ROW_WORDS
        self.rows += 1
        ints[H_ROWS] = self.rows

    def extend(self, step_ns: int, phases_ns: list[int]) -> None:
        """Add times to the last row: of the step, and of the phases in the order of `FIELDS`; unknown ones stay so."""
        at, ints = self._at - ROW_WORDS, self._ints
        ints[at + 1] += step_ns
        for place, phase_ns in enumerate(phases_ns, start=at + 2):
            if phase_ns:
                ints[place] = max(0, ints[place]) + phase_ns

    def restart(self) -> None:
        """Forget all rows."""
        for row in range(self.rows):
            self._ints[HEADER_WORDS + row * ROW_WORDS + ROW_WORDS - 1] = 0
        self._at, self.rows, self._ints[H_ROWS] = HEADER_WORDS, 0, 0
