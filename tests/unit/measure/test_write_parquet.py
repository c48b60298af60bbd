"""Raw step rows become Parquet in the encodings that keep them small."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from bench.common.files import write_json
from bench.measure import rank_tables, raw_rows, recorder, write_parquet
from bench.measure.recorder import MEASURED, UNKNOWN, StepFile
from tests.fuzz.limits import ends

RUN = {"session_id": "s", "run_id": "r", "attempt": 0}


def raw_file(path: Path, rank: int, rows: int) -> None:
    identity = {"session_id": "s1", "run_id": "ddp.1x2.r0", "attempt": 2, "rank": rank, "node": 0}
    file = StepFile(path, rows, identity)
    rng = np.random.default_rng(rank)
    start = 0
    for row in range(rows):
        phases = (rng.normal([20e3, 300e3, 400e3, 150e3], [2e3, 9e3, 12e3, 5e3])).astype(int).tolist()
        loss = np.float32(2.3 * 0.9999**row + rng.normal(0, 0.05)).item()
        memory = 400_000_000 + row // 200 * 4096 if row % 200 == 0 else UNKNOWN
        file.store(MEASURED, start, *phases, loss, memory, UNKNOWN)
        start += sum(phases) + 9000


def test_a_file_of_ten_thousand_rows_takes_at_most_25_bytes_a_row(tmp_path: Path) -> None:
    for rank in (0, 1):
        raw_file(tmp_path / f"steps.rank{rank}.raw", rank, 5000)
    ranks = [recorder.read(tmp_path / f"steps.rank{rank}.raw") for rank in (0, 1)]
    assert write_parquet.write_steps(tmp_path, 0, ranks) == 10_000
    path = tmp_path / "steps.node0.parquet"
    assert path.stat().st_size / 10_000 <= 25


def test_steps_carry_their_run_their_types_and_their_sums(tmp_path: Path) -> None:
    raw_file(tmp_path / "steps.rank3.raw", 3, 50)
    write_parquet.write_steps(tmp_path, 0, [recorder.read(tmp_path / "steps.rank3.raw")])
    file = pq.ParquetFile(tmp_path / "steps.node0.parquet")
    said = {key.decode(): value.decode() for key, value in file.metadata.metadata.items()}
    assert said == {
        "session_id": "s1",
        "run_id": "ddp.1x2.r0",
        "attempt": "2",
        "schema_version": "1",
        "node": "0",
    }
    table = file.read()
    assert [(field.name, str(field.type)) for field in table.schema] == [
        ("rank", "int32"), ("node", "int32"), ("step", "int32"), ("kind", "string"), ("start_ns", "int64"),
        ("step_ns", "int64"), ("data_ns", "int64"), ("forward_ns", "int64"), ("backward_ns", "int64"),
        ("optimizer_ns", "int64"), ("loss", "double"), ("memory_allocated_bytes", "int64"),
        ("memory_reserved_bytes", "int64"),
    ]  # fmt: skip
    columns = {name: np.array(table[name].to_pylist()) for name in table.column_names}
    parts = columns["data_ns"] + columns["forward_ns"] + columns["backward_ns"] + columns["optimizer_ns"]
    assert (columns["step_ns"] == parts).all()
    assert columns["step"].tolist() == list(range(50))
    assert table["memory_allocated_bytes"].null_count == 49
    assert table["memory_reserved_bytes"].null_count == 50


def test_step_columns_use_the_stated_encodings(tmp_path: Path) -> None:
    raw_file(tmp_path / "steps.rank0.raw", 0, 500)
    write_parquet.write_steps(tmp_path, 0, [recorder.read(tmp_path / "steps.rank0.raw")])
    group = pq.ParquetFile(tmp_path / "steps.node0.parquet").metadata.row_group(0)
    columns = {group.column(i).path_in_schema: group.column(i) for i in range(group.num_columns)}
    assert "DELTA_BINARY_PACKED" in columns["forward_ns"].encodings
    assert "BYTE_STREAM_SPLIT" in columns["loss"].encodings
    assert "RLE_DICTIONARY" in columns["kind"].encodings
    assert {column.compression for column in columns.values()} == {"ZSTD"}


def test_an_interrupted_run_is_finalised_later(tmp_path: Path) -> None:
    folder = tmp_path / "s1" / "ddp[odd].1x2.r0"
    folder.mkdir(parents=True)
    for rank in (0, 1):
        raw_file(folder / f"steps.rank{rank}.raw", rank, 20)
    write_json(folder / "run.json", {**RUN, "outcome": {"status": "interrupted", "finalised": False}})
    assert raw_rows.finalise(tmp_path) == []
    assert pq.read_table(folder / "steps.node0.parquet").num_rows == 40
    assert '"finalised": true' in (folder / "run.json").read_text()
    assert list(folder.glob("*.raw")) == []


def test_rows_beside_the_steps_make_one_file_per_agent(tmp_path: Path) -> None:
    write_json(tmp_path / "run.json", {**RUN, "outcome": {"finalised": False}})
    for task, rank in ((0, 0), (0, 1), (1, 2)):
        rows = np.zeros(2, rank_tables.TABLES["profile_collectives"])
        rows["op"], rows["step"], rows["message_bytes"] = b"all_reduce", [5, 6], [rank, rank_tables.UNKNOWN]
        writer = rank_tables.Writer(node=3, local_task=task, rank=rank)
        for row in rows:
            rank_tables.append(tmp_path, "profile_collectives", writer, row)
    cut = tmp_path / "profile_collectives.node3.task0.rank1.raw"
    cut.write_bytes(cut.read_bytes()[:-1])
    assert raw_rows.finalise(tmp_path) == []
    first = pq.read_table(tmp_path / "profile_collectives.node3.parquet")
    assert first["rank"].to_pylist() == [0, 0, 1]
    assert first["op"].to_pylist() == ["all_reduce"] * 3
    assert first["message_bytes"].to_pylist() == [0, None, 1]
    assert pq.read_table(tmp_path / "profile_collectives.node3.task1.parquet")["node"].to_pylist() == [3, 3]
    assert list(tmp_path.glob("*.raw")) == []


def test_a_damaged_raw_file_is_named_and_left(tmp_path: Path) -> None:
    folder = tmp_path / "s1" / "r"
    folder.mkdir(parents=True)
    (folder / "steps.rank0.raw").write_bytes(b"junk" * 2000)
    write_json(folder / "run.json", {"outcome": {"status": "interrupted"}})
    (problem,) = raw_rows.finalise(tmp_path)
    assert "steps.rank0.raw: not a recorder file" in problem
    assert (folder / "steps.rank0.raw").exists()


def _lead_outside(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(path.parents[3] / "kept.txt")


def _pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def _socket(path: Path) -> None:
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


@pytest.mark.parametrize("name", ["run.json", "steps.rank0.raw", "evals.raw", "steps.node0.parquet"])
@pytest.mark.parametrize("make", [_lead_outside, _pipe, _socket])
def test_links_and_pipes_next_to_raw_rows_are_named_and_not_opened(
    make: Callable[[Path], None], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kept.txt").write_text("kept")
    folder = tmp_path / "results" / "s1" / "r"
    folder.mkdir(parents=True)
    for rank in (0, 1):
        raw_file(folder / f"steps.rank{rank}.raw", rank, 20)
    write_json(folder / "run.json", {**RUN, "outcome": {"finalised": False}})
    monkeypatch.chdir(folder)  # the path of a socket must be short
    make(folder / name if make is not _socket else Path(name))
    with ends():
        (problem,) = raw_rows.finalise(tmp_path / "results")
    assert (
        problem
        == f"{folder / name}: a link, a pipe or a device: remove it, so that raw step rows are converted"
    )
    assert (tmp_path / "kept.txt").read_text() == "kept"
    assert (folder / "steps.rank1.raw").exists()


@pytest.mark.parametrize("task", ["0/../../../../x", ["0"], None])
def test_a_raw_file_cannot_name_the_parquet_file(task: object, tmp_path: Path) -> None:
    folder = tmp_path / "results" / "s1" / "r"
    (folder / "steps.node0.task0").mkdir(parents=True)
    identity = {**RUN, "rank": 0, "node": 0, "local_task": task}
    file = StepFile(folder / "steps.rank0.raw", 1, identity)
    file.store(MEASURED, 0, 1, 1, 1, 1, 0.5, UNKNOWN, UNKNOWN)
    write_json(folder / "run.json", {**RUN, "outcome": {"finalised": False}})
    (problem,) = raw_rows.finalise(tmp_path / "results")
    assert problem.startswith(f"{folder}: raw step rows were not converted: ")
    assert list(tmp_path.rglob("*.parquet")) == []


def test_rows_that_are_brought_later_join_those_of_their_node(tmp_path: Path) -> None:
    write_json(tmp_path / "run.json", {**RUN, "outcome": {"finalised": False}})
    for rank in (2, 3):
        identity = {"session_id": "s", "run_id": "r", "attempt": 0, "rank": rank, "node": 1, "local_task": 0}
        file = recorder.StepFile(tmp_path / f"steps.rank{rank}.raw", 2, identity)
        file.store(recorder.MEASURED, 0, 1, 1, 1, 1, 0.5, -1, -1)
        assert raw_rows.finalise(tmp_path) == []
    assert pq.read_table(tmp_path / "steps.node1.parquet")["rank"].to_pylist() == [2, 3]


def test_rows_that_are_brought_again_are_stored_once(tmp_path: Path) -> None:
    for rank in (0, 1):
        raw_file(tmp_path / f"steps.rank{rank}.raw", rank, 20)
    first, second = (recorder.read(tmp_path / f"steps.rank{rank}.raw") for rank in (0, 1))
    write_parquet.write_steps(tmp_path, 0, [first])
    write_parquet.write_steps(tmp_path, 0, [first, second])
    stored = pq.read_table(tmp_path / "steps.node0.parquet")
    assert stored["rank"].to_pylist() == [0] * 20 + [1] * 20
