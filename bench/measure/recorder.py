"""The step recorder: a preallocated, memory-mapped file of fixed-width rows, one per step and rank.

A row takes one store per value, without system calls, locks or kept objects. The store of `kind` completes the row, so
every completed row can be read however the rank dies. The file is on node-local disk; the agent converts it to Parquet
(bench/measure/write_parquet.py).
"""

from __future__ import annotations

import json
import math
import mmap
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.records.vocabulary import STEP_KINDS

_MAGIC = 0x31505453_48434E42  # 'BNCHSTP1', little-endian
HEADER_WORDS = 512
"""64-bit words before the first row: eight numbers, then the run's identity as JSON."""
_TEXT_OFFSET_BYTES = 64
FIELDS = (
    "start_ns",
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
KINDS = dict(enumerate(STEP_KINDS, start=1))
WARMUP, MEASURED, PROFILED, NO_SYNC = KINDS
TRAINING = (WARMUP, MEASURED)
"""Kinds of training steps. Steps of other kinds come later and only count for figures of communication."""
UNKNOWN = -1
"""A memory reading that was not taken."""

PHASES = ("data", "forward", "backward", "optimizer")
"""The phases of a step, in the order of their columns."""

_H_MAGIC, _H_CAPACITY, _H_ROWS, _H_BARRIER_NS, _H_TEXT_BYTES = range(5)


def by_phase(spans: Sequence[int], phases: Sequence[str]) -> list[int]:
    """The sum of the spans of each of PHASES; `phases` names each span."""
    return [sum(span for span, name in zip(spans, phases, strict=True) if name == phase) for phase in PHASES]


class StepFile:
    """The writing side, in the rank."""

    def __init__(self, path: Path, capacity: int, identity: dict[str, Any], further: int = 0) -> None:
        """Allocate space for `capacity` training rows and `further` rows after them. If the disk is full this raises
        OSError, before the run."""
        text = json.dumps(identity).encode()
        if len(text) > HEADER_WORDS * 8 - _TEXT_OFFSET_BYTES:
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
        self._map[_TEXT_OFFSET_BYTES : _TEXT_OFFSET_BYTES + len(text)] = text
        self._ints = memoryview(self._map).cast("q")
        self._floats = memoryview(self._map).cast("d")
        self._ints[_H_CAPACITY] = capacity
        self._ints[_H_TEXT_BYTES] = len(text)
        self._ints[_H_MAGIC] = _MAGIC
        self._at = HEADER_WORDS
        self.rows = 0
        """Number of completed rows."""

    def barrier(self, now_ns: int) -> None:
        """Store the run's common zero, by this rank's monotonic clock."""
        self._ints[_H_BARRIER_NS] = now_ns

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
    ) -> None:
        """Append a row. Single stores: right after a step, struct.pack_into's cold code takes twice as long."""
        at, ints = self._at, self._ints
        ints[at] = start_ns
        ints[at + 1] = data_ns
        ints[at + 2] = forward_ns
        ints[at + 3] = backward_ns
        ints[at + 4] = optimizer_ns
        self._floats[at + 5] = loss
        ints[at + 6] = memory_allocated_bytes
        ints[at + 7] = memory_reserved_bytes
        ints[at + 8] = kind
        self._at = at + ROW_WORDS
        self.rows += 1
        ints[_H_ROWS] = self.rows


@dataclass(frozen=True, kw_only=True)
class StepRows:
    """The reading side: the rows that one rank completed."""

    identity: dict[str, Any]
    barrier_ns: int
    """perf_counter_ns at the common barrier; 0 if the rank never reached it."""
    words: np.ndarray[Any, np.dtype[np.int64]]
    """[rows, ROW_WORDS] int64, completed rows only, in order of step."""

    @property
    def trained(self) -> int:
        """Number of training rows."""
        return int(np.isin(self.column("kind"), TRAINING).sum())

    def column(self, name: str) -> np.ndarray[Any, np.dtype[Any]]:
        column = self.words[:, FIELDS.index(name)]
        return column.view(np.float64) if name == "loss" else column


def read(path: Path) -> StepRows:
    """Read a recorder file. Raises ValueError if it is not one."""
    return parse(path.read_bytes(), str(path))


def parse(raw: bytes, name: str) -> StepRows:
    """Read a recorder file's bytes; an incomplete last row is ignored."""
    if len(raw) < HEADER_WORDS * 8:
        raise ValueError(f"{name}: {len(raw)} bytes are too few for a recorder file")
    words = np.frombuffer(raw[: len(raw) // 8 * 8], dtype=np.int64)
    if words[_H_MAGIC] == 0:  # its rank was killed after allocation, before it wrote the header
        return StepRows(identity={}, barrier_ns=0, words=np.empty((0, ROW_WORDS), np.int64))
    if words[_H_MAGIC] != _MAGIC:
        raise ValueError(f"{name}: not a recorder file")
    text_bytes = int(words[_H_TEXT_BYTES])
    identity = json.loads(raw[_TEXT_OFFSET_BYTES : _TEXT_OFFSET_BYTES + text_bytes])
    body = words[HEADER_WORDS:]
    table = np.ascontiguousarray(body[: len(body) // ROW_WORDS * ROW_WORDS].reshape(-1, ROW_WORDS))
    completed = np.isin(table[:, -1], list(KINDS))
    return StepRows(identity=identity, barrier_ns=int(words[_H_BARRIER_NS]), words=table[completed])


@dataclass(frozen=True, kw_only=True)
class LastStep:
    """The state of a running rank, for the progress display."""

    rows: int
    capacity: int
    loss: float
    step_ns: int
    memory_bytes: int | None


def peek(path: Path) -> LastStep | None:
    """The last completed training row of a file that is being written; null before the first. It takes two small
    reads."""
    try:
        fd = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        header = np.frombuffer(os.pread(fd, 64, 0), dtype=np.int64)
        if len(header) < 8 or header[_H_MAGIC] != _MAGIC or header[_H_ROWS] == 0:
            return None
        rows = int(min(header[_H_ROWS], header[_H_CAPACITY]))
        raw = os.pread(fd, ROW_WORDS * 8, (HEADER_WORDS + (rows - 1) * ROW_WORDS) * 8)
    finally:
        os.close(fd)
    words = np.frombuffer(raw, dtype=np.int64)
    memory = int(words[FIELDS.index("memory_allocated_bytes")])
    return LastStep(
        rows=rows,
        capacity=int(header[_H_CAPACITY]),
        loss=float(words.view(np.float64)[FIELDS.index("loss")]),
        step_ns=int(words[1:5].sum()),
        memory_bytes=None if memory == UNKNOWN else memory,
    )


class NonFiniteLossError(ArithmeticError):
    """A loss is NaN or infinite, from which training does not recover."""


class StrictStepFile(StepFile):
    """`measure.nonfinite: fail`: stores every row, and raises once, at the first loss that is NaN or infinite.

    The loss is checked when its row is stored, after the clock has read it: on CUDA some steps later, so that nothing
    waits for the device."""

    _refused = False

    def store(self, *row: float) -> None:
        super().store(*row)  # type: ignore[arg-type]
        loss = row[6]
        if row[0] in TRAINING and not math.isfinite(loss) and not self._refused:
            self._refused = True
            raise NonFiniteLossError(f"loss of step {self.rows - 1} is not finite: {loss}")
