"""The step recorder keeps every completed row, even if the rank fails."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bench.measure import recorder
from bench.measure.recorder import FIELDS, HEADER_WORDS, MEASURED, ROW_WORDS, UNKNOWN, WARMUP, StepFile

IDENTITY = {"session_id": "s", "run_id": "ddp.1x2.r0", "attempt": 0, "rank": 1, "node": 0}


def store(file: StepFile, row: int, kind: int, loss: float = 0.5) -> None:
    file.store(kind, 1000 * row, 1, 2, 3, 4, loss, 4096, UNKNOWN)


def test_rows_come_back_as_they_were_stored(tmp_path: Path) -> None:
    file = StepFile(tmp_path / "steps.raw", 3, IDENTITY)
    file.barrier(77)
    store(file, 0, WARMUP, loss=2.25)
    store(file, 1, MEASURED, loss=float("nan"))
    rows = recorder.read(tmp_path / "steps.raw")
    assert rows.identity == IDENTITY
    assert rows.barrier_ns == 77
    assert rows.words[:, 0].tolist() == [0, 1000]
    assert rows.column("kind").tolist() == [WARMUP, MEASURED]
    assert rows.column("loss")[0] == 2.25
    assert np.isnan(rows.column("loss")[1])


def test_a_row_that_was_not_completed_is_left_out(tmp_path: Path) -> None:
    file = StepFile(tmp_path / "steps.raw", 4, IDENTITY)
    store(file, 0, MEASURED)
    with (tmp_path / "steps.raw").open("r+b") as raw:  # the second row's first word, and no more
        raw.seek((HEADER_WORDS + ROW_WORDS) * 8)
        raw.write(b"\x7b")
    assert len(recorder.read(tmp_path / "steps.raw").words) == 1


def test_a_file_cut_off_within_a_row_keeps_the_rows_before(tmp_path: Path) -> None:
    path = tmp_path / "steps.raw"
    file = StepFile(path, 4, IDENTITY)
    store(file, 0, MEASURED)
    store(file, 1, MEASURED)
    raw = path.read_bytes()[: (HEADER_WORDS + ROW_WORDS + 3) * 8 + 5]
    assert len(recorder.parse(raw, "cut").words) == 1


def test_a_foreign_file_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "steps.raw"
    path.write_bytes(b"x" * 10_000)
    with pytest.raises(ValueError, match=r"steps\.raw: not a recorder file"):
        recorder.read(path)


def test_peek_shows_the_last_completed_step_of_a_file_that_is_being_written(tmp_path: Path) -> None:
    path = tmp_path / "steps.raw"
    assert recorder.peek(path) is None
    file = StepFile(path, 9, IDENTITY)
    assert recorder.peek(path) is None
    store(file, 0, WARMUP, loss=1.0)
    store(file, 1, MEASURED, loss=0.25)
    last = recorder.peek(path)
    assert last is not None
    assert (last.rows, last.capacity, last.loss, last.step_ns, last.memory_bytes) == (2, 9, 0.25, 10, 4096)


def test_a_rank_killed_with_sigkill_leaves_every_completed_row(tmp_path: Path) -> None:
    program = """
import os, signal, sys
from bench.measure.recorder import *
from pathlib import Path
file = StepFile(Path(sys.argv[1]), 100, {"rank": 0})
for row in range(41):
    file.store(MEASURED, row, 0, 0, 0, 0, 0.0, 0, 0)
os.kill(os.getpid(), signal.SIGKILL)
"""
    path = tmp_path / "steps.raw"
    done = subprocess.run([sys.executable, "-c", program, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert recorder.read(path).words[:, 0].tolist() == list(range(41))


def test_room_is_allocated_before_the_run(tmp_path: Path) -> None:
    StepFile(tmp_path / "steps.raw", 1000, IDENTITY)
    blocks = (tmp_path / "steps.raw").stat().st_blocks * 512
    assert blocks >= (HEADER_WORDS + 1000 * len(FIELDS)) * 8
