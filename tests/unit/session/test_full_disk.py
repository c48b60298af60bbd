"""A full disk: each file is written whole or not at all, and the message names the place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from bench.agent import scratch_keeper
from bench.common.errors import InputError
from bench.common.files import copy_whole, write_json
from bench.measure import evals, raw_rows, recorder, write_parquet
from bench.measure.recorder import MEASURED, StepFile
from bench.records.session_head import SessionHead
from bench.session import recovery
from bench.session.folder import SessionFolder, utc_now
from tests.disks import Disk

Disks = Callable[[str, str], Disk]


def raw_file(folder: Path, rank: int, rows: int) -> None:
    identity = {"session_id": "s", "run_id": "r", "attempt": 0, "rank": rank, "node": 0}
    file = StepFile(folder / f"steps.rank{rank}.raw", rows, identity)
    rng = np.random.default_rng(rank)
    for _ in range(rows):
        file.store(MEASURED, 0, *rng.integers(0, 1 << 40, 4).tolist(), 0.5, 0, 0)


def test_a_session_without_room_for_its_plan_does_not_exist(disk: Disks) -> None:
    results = disk("r", "64k")
    session = SessionFolder(results.folder, "s")
    session.lock()
    results.fill()
    with pytest.raises(
        InputError, match=r"No space left on device: '.*/r/s/plan.json'; --results names another"
    ):
        session.create(SessionHead(session_id="s", suite="smoke", created_at=utc_now()), ())
    assert not session.exists
    assert [path.name for path in session.path.iterdir()] == [".lock"]
    results.free()
    session.create(SessionHead(session_id="s", suite="smoke", created_at=utc_now()), ())
    assert session.exists


def test_a_validation_is_a_whole_row_or_none(disk: Disks) -> None:
    full = disk("scratch", "8k")
    row = {"step": 1, "epoch": 0.5, "val_loss": 0.25, "val_accuracy": None, "elapsed_s": 1.0}
    evals.append(full.folder / "evals.raw", **row)
    file = full.folder / "evals.raw"
    file.write_bytes(file.read_bytes() * 85)  # 16 bytes before the end of a page
    full.fill()
    with pytest.raises(OSError, match=r"No space left on device: '.*/scratch/evals.raw'"):
        evals.append(file, **row)
    assert file.stat().st_size == 85 * evals.ROW.itemsize
    full.free()
    evals.append(file, **row)
    assert evals.read(full.folder)["val_loss"].tolist() == [0.25] * 86


def test_a_copy_and_a_parquet_file_are_whole_or_not_there(tmp_path: Path, disk: Disks) -> None:
    results = disk("r", "64k")
    raw_file(tmp_path, 0, 5_000)
    with pytest.raises(OSError, match="No space left on device"):
        copy_whole(tmp_path / "steps.rank0.raw", results.folder / "steps.rank0.raw")
    with pytest.raises(OSError, match=r"No space left on device: '.*/r/steps.node0.parquet'"):
        write_parquet.write_steps(results.folder, 0, [recorder.read(tmp_path / "steps.rank0.raw")])
    assert list(results.folder.iterdir()) == []


def test_raw_rows_stay_as_they_are_where_there_is_no_room_for_parquet(disk: Disks) -> None:
    results = disk("r", "216k")
    raw_file(results.folder, 0, 2_500)
    run = {"session_id": "s", "run_id": "r", "attempt": 0, "outcome": {"finalised": False}}
    write_json(results.folder / "run.json", run)
    (problem,) = raw_rows.finalise(results.folder)
    assert "raw step rows were not converted: [Errno 28] No space left on device" in problem
    assert sorted(path.name for path in results.folder.iterdir()) == ["run.json", "steps.rank0.raw"]
    results.mount("size=4m")
    assert raw_rows.finalise(results.folder) == []
    assert pq.read_metadata(results.folder / "steps.node0.parquet").num_rows == 2_500


def test_an_agents_folder_is_removed_unless_rows_in_it_are_not_stored(tmp_path: Path, disk: Disks) -> None:
    results = disk("r", "64k")
    with recovery.agent_scratch() as scratch:
        run = scratch / "r.0"
        run.mkdir()
        raw_file(run, 0, 2_500)
        with pytest.raises(OSError, match="No space left on device"):
            scratch_keeper.keep(run, results.folder)
    assert run.is_dir()
    with recovery.agent_scratch() as empty:
        (empty / "samples.raw").touch()
    assert not empty.exists()
    results.mount("size=4m")
    scratch_keeper.keep(run, results.folder)
    assert len(recorder.read(results.folder / "steps.rank0.raw").words) == 2_500
