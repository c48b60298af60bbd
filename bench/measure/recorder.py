"""Reads the step recorder's files, whose writing side is bench/probe/bench_probe/step_file.py."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.probe.bench_probe import PHASES
from bench.probe.bench_probe.step_file import (
    FIELDS,
    H_BARRIER_NS,
    H_CAPACITY,
    H_MAGIC,
    H_ROWS,
    H_TEXT_BYTES,
    HEADER_WORDS,
    MAGIC,
    MEASURED,
    NO_SYNC,
    PROFILED,
    ROW_WORDS,
    TEXT_OFFSET_BYTES,
    UNKNOWN,
    UNKNOWN_LOSS,
    UNKNOWN_PHASE,
    WARMUP,
    StepFile,
)
from bench.records.vocabulary import STEP_KINDS

__all__ = [
    "FIELDS",
    "HEADER_WORDS",
    "KINDS",
    "MEASURED",
    "NO_SYNC",
    "PHASES",
    "PROFILED",
    "ROW_WORDS",
    "TRAINING",
    "UNKNOWN",
    "UNKNOWN_LOSS",
    "UNKNOWN_PHASE",
    "WARMUP",
    "StepFile",
]

KINDS = dict(zip((WARMUP, MEASURED, PROFILED, NO_SYNC), STEP_KINDS, strict=True))
TRAINING = (WARMUP, MEASURED)
"""Kinds of training steps. Steps of other kinds come later and only count for figures of communication."""


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
    if words[H_MAGIC] == 0:  # its rank was killed after allocation, before it wrote the header
        return StepRows(identity={}, barrier_ns=0, words=np.empty((0, ROW_WORDS), np.int64))
    if words[H_MAGIC] != MAGIC:
        raise ValueError(f"{name}: not a recorder file")
    text_bytes = int(words[H_TEXT_BYTES])
    identity = json.loads(raw[TEXT_OFFSET_BYTES : TEXT_OFFSET_BYTES + text_bytes])
    body = words[HEADER_WORDS:]
    table = np.ascontiguousarray(body[: len(body) // ROW_WORDS * ROW_WORDS].reshape(-1, ROW_WORDS))
    completed = np.isin(table[:, -1], list(KINDS))
    return StepRows(identity=identity, barrier_ns=int(words[H_BARRIER_NS]), words=table[completed])


@dataclass(frozen=True, kw_only=True)
class LastStep:
    """The state of a running rank, for the progress display."""

    rows: int
    capacity: int
    loss: float | None
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
        if len(header) < 8 or header[H_MAGIC] != MAGIC or header[H_ROWS] == 0:
            return None
        rows = int(min(header[H_ROWS], header[H_CAPACITY]))
        raw = os.pread(fd, ROW_WORDS * 8, (HEADER_WORDS + (rows - 1) * ROW_WORDS) * 8)
    finally:
        os.close(fd)
    words = np.frombuffer(raw, dtype=np.int64)
    memory = int(words[FIELDS.index("memory_allocated_bytes")])
    loss = float(words.view(np.float64)[FIELDS.index("loss")])
    return LastStep(
        rows=rows,
        capacity=int(header[H_CAPACITY]),
        loss=None if loss == UNKNOWN_LOSS else loss,
        step_ns=int(words[FIELDS.index("step_ns")]),
        memory_bytes=None if memory == UNKNOWN else memory,
    )


class NonFiniteLossError(ArithmeticError):
    """A loss is NaN or infinite, from which training does not recover."""


class StrictStepFile(StepFile):
    """`measure.nonfinite: fail`: stores every row, and raises once, at the first loss that is NaN or infinite.

    The loss is checked when its row is stored, after the clock has read it: on CUDA some steps later, so that nothing
    waits for the device."""

    _refused = False

    def store(self, *row: float) -> None:  # type: ignore[override] # passes all values on
        super().store(*row)  # type: ignore[arg-type]
        loss = row[6]
        if row[0] in TRAINING and not math.isfinite(loss) and not self._refused:
            self._refused = True
            raise NonFiniteLossError(f"loss of step {self.rows - 1} is not finite: {loss}")
