"""Rows of validations: rank 0 appends each at once to a file on node-local disk, so that none is lost if the run ends
early. The agent converts the file to Parquet (bench/measure/write_parquet.py)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from bench.common.files import append_whole

FILE_NAME = "evals.raw"
UNKNOWN_LOSS = np.finfo(np.float64).min
"""No loss; a loss that is NaN was validated."""
ROW = np.dtype(
    [
        ("step", "<i8"),
        ("epoch", "<f8"),
        ("val_loss", "<f8"),
        ("val_accuracy", "<f8"),
        ("elapsed_s", "<f8"),
        ("validation_s", "<f8"),
    ]
)
"""results.duckdb-schema/ describes the columns (table `evals`). An unknown epoch, an undefined accuracy and unknown
times are NaN."""


def append(
    path: Path,
    *,
    step: int,
    epoch: float | None,
    val_loss: float | None,
    val_accuracy: float | None,
    elapsed_s: float | None,
    validation_s: float | None = None,
) -> None:
    """Add the row of a validation."""
    passes = np.nan if epoch is None else epoch
    accuracy = np.nan if val_accuracy is None else val_accuracy
    loss = UNKNOWN_LOSS if val_loss is None else val_loss
    began = np.nan if elapsed_s is None else elapsed_s
    took = np.nan if validation_s is None else validation_s
    row = np.array([(step, passes, loss, accuracy, began, took)], dtype=ROW)
    with path.open("ab", buffering=0) as file:
        append_whole(file, row.tobytes())


def read(folder: Path) -> np.ndarray[Any, np.dtype[Any]]:
    """[validations] of ROW, in order; empty if `folder` has no such file. An incomplete last row is ignored."""
    try:
        raw = (folder / FILE_NAME).read_bytes()
    except FileNotFoundError:
        raw = b""
    return np.frombuffer(raw[: len(raw) // ROW.itemsize * ROW.itemsize], dtype=ROW)
