"""Validations as rank 0 writes them down, and as Parquet."""

from __future__ import annotations

import math
from pathlib import Path

import pyarrow.parquet as pq

from bench.common.files import write_json
from bench.measure import evals, raw_rows, write_parquet
from tests.factory_tables import EVAL_SCHEMA

IDENTITY = write_parquet.identity_of("s", "ddp.1x2.r0", 0, 0)


def append(folder: Path, step: int, loss: float = 0.5, accuracy: float | None = 0.25) -> None:
    path = folder / evals.FILE_NAME
    evals.append(
        path,
        step=step,
        epoch=step / 8,
        val_loss=loss,
        val_accuracy=accuracy,
        elapsed_s=step / 2,
        validation_s=0.25,
    )


def test_a_run_that_never_validated_has_no_rows_and_no_file(tmp_path: Path) -> None:
    assert len(evals.read(tmp_path)) == 0
    write_parquet.write_evals(tmp_path, IDENTITY, evals.read(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_row_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    append(tmp_path, 4)
    append(tmp_path, 8)
    path = tmp_path / evals.FILE_NAME
    path.write_bytes(path.read_bytes()[:-1])
    assert evals.read(tmp_path)["step"].tolist() == [4]


def test_parquet_has_the_columns_of_the_contract_and_no_accuracy_where_there_is_none(tmp_path: Path) -> None:
    append(tmp_path, 4)
    append(tmp_path, 8, loss=math.nan, accuracy=None)
    write_parquet.write_evals(tmp_path, IDENTITY, evals.read(tmp_path))
    table = pq.read_table(tmp_path / "evals.parquet")
    assert table.schema.equals(EVAL_SCHEMA)
    first, second = table.to_pylist()
    assert first == {
        "step": 4, "epoch": 0.5, "val_loss": 0.5, "val_accuracy": 0.25, "elapsed_s": 2.0, "validation_s": 0.25,
    }  # fmt: skip
    assert second["val_accuracy"] is None
    evals.append(
        tmp_path / evals.FILE_NAME, step=12, epoch=None, val_loss=None, val_accuracy=None, elapsed_s=6.0
    )
    write_parquet.write_evals(tmp_path, IDENTITY, evals.read(tmp_path))
    assert pq.read_table(tmp_path / "evals.parquet")["validation_s"].to_pylist() == [0.25, 0.25, None]
    assert math.isnan(second["val_loss"])


def test_validations_of_an_interrupted_run_are_finalised_later(tmp_path: Path) -> None:
    folder = tmp_path / "s" / "ddp.1x2.r0"
    folder.mkdir(parents=True)
    append(folder, 4)
    run = {"session_id": "s", "run_id": "ddp.1x2.r0", "attempt": 0, "outcome": {"finalised": False}}
    write_json(folder / "run.json", run)
    assert raw_rows.finalise(tmp_path) == []
    assert pq.read_table(folder / "evals.parquet")["step"].to_pylist() == [4]
    assert not (folder / evals.FILE_NAME).exists()
