"""A load in portions of whole runs gives the same rows as one at once."""

from __future__ import annotations

import duckdb

from analysis.database import schema
from analysis.loading import insert, read_files
from analysis.loading.read_files import ParquetFile
from analysis.loading.scan import discover
from tests.factory import Case, make_session
from tests.pauses import pause, stall
from tests.unit.analysis.conftest import alike, fetch, take_in
from tests.unit.diagnosis.planted.needless_reductions import OPTIONS

PAUSED = Case(
    name="paused",
    step_ms={1: 100.0, 2: 55.0, 4: 30.0},
    repeats=2,
    jitter=0.1,
    validate_every=3,
    validation_ms=7,
)
ON_GPUS = Case(name="on_gpus", step_ms={8: 20.0, 16: 12.0}, repeats=1, device_type="cuda")
FAILED = Case(name="failed", step_ms={2: 50.0}, repeats=2, statuses={(2, 1): "failed"}, attempts={(2, 1): 1})

COMMAND = Case(
    name="command",
    step_ms={2: 10.0},
    repeats=1,
    strategy="command",
    workload="command",
    options=OPTIONS,
    steps=20,
)
RUN_TABLES = {*schema.RUN_TABLES} - {"paused_profiles"}  # no step of these sessions was profiled


def test_every_table_has_the_same_rows_however_small_the_portions(
    tmp_path, in_memory: duckdb.DuckDBPyConnection
):
    make_session(tmp_path, [PAUSED, ON_GPUS, FAILED], session_id="one")
    make_session(tmp_path, [FAILED], session_id="two")
    folder = make_session(tmp_path, [COMMAND], session_id="three")
    stall(folder, "command.1x2.r0", {12: 100.0})
    pause(folder, "command.1x2.r0", {15: {"saving": 20.0}})
    found = read_files.read(discover(tmp_path), {})
    tables = schema.session_tables()
    seen = []
    for rows in (insert.PORTION_ROWS, 1):
        in_memory.begin()
        take_in(in_memory, found, portion_rows=rows)
        seen.append({table: fetch(in_memory, f"FROM {table}") for table in tables})
        in_memory.rollback()
    assert all(seen[0][table] for table in ("steps", "samples", "evals", *RUN_TABLES, "law_fits"))
    assert [table for table in tables if not alike(seen[0][table], seen[1][table])] == []


def test_a_portion_has_whole_runs_and_as_many_as_fit():
    files = [
        ParquetFile(table=table, path="", session_id="s", run_id=run_id, attempt=0, columns=[], rows=rows)
        for table in ("steps", "samples")
        for run_id, rows in (("a", 40_000), ("b", 10_000), ("c", 10_000), ("d", 1))
    ]
    found = [[file.run_id for file in files] for files in insert.portions(files, 42_000)]
    assert found == [["a", "a"], ["b", "b", "c", "c", "d", "d"]]
    found = [[file.run_id for file in files] for files in insert.portions(files, 41_000)]
    assert found == [["a", "a"], ["b", "b", "c", "c"], ["d", "d"]]
