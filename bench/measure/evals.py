"""Validations as they happen: rank 0 appends a row to a file on node-local disk, so that whatever ends the run
later loses none. The agent makes Parquet of it (bench/measure/finalise.py)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from bench.files import append_whole

FILE_NAME = "evals.raw"
ROW = np.dtype(
    [
        ("step", "<i8"),
        ("epoch", "<f8"),
        ("val_loss", "<f8"),
        ("val_accuracy", "<f8"),
        ("elapsed_s", "<f8"),
    ]
)
"""results.duckdb-schema/050_evals.sql says what they mean; an accuracy that means nothing is NaN."""


def append(
    path: Path, *, step: int, epoch: float, val_loss: float, val_accuracy: float | None, elapsed_s: float
) -> None:
    """Add one validation's row."""
    accuracy = np.nan if val_accuracy is None else val_accuracy
    row = np.array([(step, epoch, val_loss, accuracy, elapsed_s)], dtype=ROW)
    with path.open("ab", buffering=0) as file:
        append_whole(file, row.tobytes())


def read(folder: Path) -> np.ndarray[Any, np.dtype[Any]]:
    """[validations] of ROW, in order; none where the run has no file in `folder`. A row cut off is left out."""
    try:
        raw = (folder / FILE_NAME).read_bytes()
    except FileNotFoundError:
        raw = b""
    return np.frombuffer(raw[: len(raw) // ROW.itemsize * ROW.itemsize], dtype=ROW)
