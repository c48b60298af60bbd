"""Converts the ranks' raw files to Parquet, each under a temporary name that is then renamed.

The agent does this after each run. `finalise` does it for interrupted runs, which had only time to copy raw files.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench.common.files import commit, raw_files, read_json, write_json
from bench.measure import evals, rank_tables, recorder
from bench.measure.recorder import KINDS, UNKNOWN, UNKNOWN_LOSS, UNKNOWN_PHASE, StepRows
from bench.measure.sensors import sample
from bench.records.parquet_tables import PARQUET_TABLES
from bench.records.vocabulary import SCHEMA_VERSION

_ARROW_TYPES = {"INTEGER": pa.int32(), "BIGINT": pa.int64(), "DOUBLE": pa.float64(), "VARCHAR": pa.string()}
_STEP_ENCODINGS = {
    "step": "DELTA_BINARY_PACKED",
    "start_ns": "DELTA_BINARY_PACKED",
    "step_ns": "DELTA_BINARY_PACKED",
    "data_ns": "DELTA_BINARY_PACKED",
    "forward_ns": "DELTA_BINARY_PACKED",
    "backward_ns": "DELTA_BINARY_PACKED",
    "optimizer_ns": "DELTA_BINARY_PACKED",
    "loss": "BYTE_STREAM_SPLIT",
    "memory_allocated_bytes": "DELTA_BINARY_PACKED",
    "memory_reserved_bytes": "DELTA_BINARY_PACKED",
}
_STEP_KEYS = ["rank", "node", "kind"]
_SAMPLE_KEYS = ["node", "device"]


def write_steps(folder: Path, node: int, ranks: list[StepRows], local_task: int = 0) -> int:
    """Write one agent's ranks to `steps.nodeN.parquet`, or to `steps.nodeN.taskM.parquet` if it is not its node's first
    agent: each file has one writer. Returns the number of rows."""
    ranks = [rows for rows in ranks if len(rows.words)]
    if not ranks:
        return 0
    tables = [_step_table(rows) for rows in ranks]
    name = f"steps.node{node}.task{local_task}.parquet" if local_task else f"steps.node{node}.parquet"
    table = pa.concat_tables([*_of_other_ranks(folder / name, tables), *tables])
    _write(folder / name, table, ranks[0].identity, _STEP_KEYS, _STEP_ENCODINGS)
    return int(table.num_rows)


def write_samples(
    folder: Path, identity: dict[str, Any], rows: np.ndarray[Any, np.dtype[Any]], barrier_ns: int
) -> None:
    """Write `samples.nodeN.parquet`, with times relative to the run's common barrier."""
    if not len(rows):
        return
    node = identity["node"]
    columns: dict[str, pa.Array] = {
        "node": pa.array(np.full(len(rows), node)),
        "device": pa.array(rows["device"], mask=rows["device"] == sample.HOST),
        "time_ns": pa.array(rows["time_ns"] - barrier_ns),
    }
    for name in sample.ROW.names or ():
        if name not in columns:
            values = np.ascontiguousarray(rows[name])
            is_whole = PARQUET_TABLES["samples"][name].sql_type == "BIGINT"
            columns[name] = pa.array(np.trunc(values) if is_whole else values, mask=np.isnan(values))
    table = _table("samples", columns)
    _write(
        folder / f"samples.node{node}.parquet",
        table,
        identity,
        _SAMPLE_KEYS,
        {"time_ns": "DELTA_BINARY_PACKED"},
    )


def write_evals(folder: Path, identity: dict[str, Any], rows: np.ndarray[Any, np.dtype[Any]]) -> None:
    """Write rows of bench/measure/evals.py, if any, to `evals.parquet`."""
    if not len(rows):
        return
    columns = {name: pa.array(np.ascontiguousarray(rows[name])) for name in evals.ROW.names or ()}
    columns["val_loss"] = pa.array(rows["val_loss"], mask=rows["val_loss"] == evals.UNKNOWN_LOSS)
    for name in ("epoch", "val_accuracy", "elapsed_s", "validation_s"):
        columns[name] = pa.array(rows[name], mask=np.isnan(rows[name]))
    _write(folder / "evals.parquet", _table("evals", columns), identity, [], {})


def write_rank_tables(raws: Path, folder: Path, run: tuple[str, str, int]) -> None:
    """Write the ranks' files in `raws` (bench/measure/rank_tables.py) to `TABLE.nodeN.parquet` in `folder`, with the
    suffix of `write_steps` for an agent that is not its node's first. `run`: session, run and attempt."""
    written = [file for file in rank_tables.read(raws) if len(file.rows)]
    of_one = attrgetter("table", "writer.node", "writer.local_task")
    for (table, node, task), files in groupby(written, key=of_one):
        name = f"{table}.node{node}.task{task}.parquet" if task else f"{table}.node{node}.parquet"
        tables = [_rank_table(file) for file in files]
        whole = pa.concat_tables([*_of_other_ranks(folder / name, tables), *tables])
        keys = [field.name for field in whole.schema if pa.types.is_string(field.type)]
        _write(folder / name, whole, identity_of(*run, node), ["rank", "node", *keys], {})


def finalise_run(run_json: Path) -> None:
    """Convert an interrupted run's raw files to Parquet. Raises ValueError, KeyError, TypeError or OSError if they
    cannot be read or stored; the raw files then stay."""
    folder = run_json.parent
    run = read_json(run_json)
    recorded = [recorder.read(path) for path in sorted(folder.glob("steps.rank*.raw"))]
    ranks = [rows for rows in recorded if len(rows.words)]
    for node, task in sorted({_task(rows) for rows in ranks}):
        write_steps(folder, node, [rows for rows in ranks if _task(rows) == (node, task)], task)
    of_run = (run["session_id"], run["run_id"], run["attempt"])
    validations = evals.read(folder)
    if len(validations):
        write_evals(folder, identity_of(*of_run, None), validations)
    write_rank_tables(folder, folder, of_run)
    run["outcome"]["finalised"] = True
    write_json(run_json, run)
    for path in raw_files(folder):
        path.unlink()


def _of_other_ranks(path: Path, tables: list[pa.Table]) -> list[pa.Table]:
    """Rows in the existing file of ranks that `tables` do not contain. A keeper may store more ranks later, and may
    store again ranks that its agent had stored before it died. A rank's raw file always has all of its rows."""
    if not path.exists():
        return []
    there = pq.read_table(path).cast(tables[0].schema)
    new = pa.chunked_array([chunk for table in tables for chunk in table["rank"].chunks])
    return [there.filter(pc.invert(pc.is_in(there["rank"], value_set=pc.unique(new))))]


def _task(rows: StepRows) -> tuple[int, int]:
    """Node of a rank, and index of its agent on that node. Raises ValueError or TypeError for anything but numbers,
    because they become part of a file's name."""
    return int(rows.identity["node"]), int(rows.identity.get("local_task", 0))


def arrow_schema(table: str, owner: Mapping[str, str] | None = None) -> pa.Schema:
    """The schema of a table's files; `owner` is their metadata."""
    columns = [(name, _ARROW_TYPES[column.sql_type]) for name, column in PARQUET_TABLES[table].items()]
    return pa.schema(columns, metadata=dict(owner) if owner else None)


def _step_table(rows: StepRows) -> pa.Table:
    count = len(rows.words)
    phases = {name: rows.column(name) for name in ("data_ns", "forward_ns", "backward_ns", "optimizer_ns")}
    columns: dict[str, pa.Array] = {
        "rank": pa.array(np.full(count, rows.identity["rank"])),
        "node": pa.array(np.full(count, rows.identity["node"])),
        "step": pa.array(np.arange(count)),
        "kind": pa.array([KINDS[int(kind)] for kind in rows.column("kind")]),
        "start_ns": pa.array(rows.column("start_ns")),
        "step_ns": pa.array(rows.column("step_ns")),
    }
    columns |= {name: pa.array(values, mask=values == UNKNOWN_PHASE) for name, values in phases.items()}
    losses = rows.column("loss")
    columns["loss"] = pa.array(losses, mask=losses == UNKNOWN_LOSS)
    for name in ("memory_allocated_bytes", "memory_reserved_bytes"):
        values = rows.column(name)
        columns[name] = pa.array(values, mask=values == UNKNOWN)
    return _table("steps", columns)


def _rank_table(file: rank_tables.Written) -> pa.Table:
    place = {"rank": file.writer.rank, "node": file.writer.node}
    columns = {name: pa.array(np.full(len(file.rows), value)) for name, value in place.items()}
    return _table(
        file.table, columns | {name: _column(file.rows[name]) for name in file.rows.dtype.names or ()}
    )


def _table(name: str, columns: dict[str, pa.Array]) -> pa.Table:
    """The columns with the types and in the order of PARQUET_TABLES."""
    return pa.table(columns, schema=arrow_schema(name))


def _column(values: np.ndarray[Any, np.dtype[Any]]) -> pa.Array:
    """The values as a column; unknown ones are null."""
    values = np.ascontiguousarray(values)
    if values.dtype.kind == "S":
        return pa.array(values.astype(str), mask=values == b"")
    missing = values == rank_tables.UNKNOWN if values.dtype.kind == "i" else np.isnan(values)
    return pa.array(values, mask=missing)


def _write(
    path: Path, table: pa.Table, identity: dict[str, Any], keys: list[str], encodings: dict[str, str]
) -> None:
    named = {name: str(identity[name]) for name in ("session_id", "run_id", "attempt")}
    named |= {"schema_version": str(SCHEMA_VERSION), "node": str(identity.get("node", ""))}
    temporary = path.with_name(path.name + ".tmp")
    try:
        _write_parquet(temporary, table, named, keys, encodings)
        commit(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise OSError(error.errno, reason, str(path)) from error  # the error of a full disk has no path


def _write_parquet(
    path: Path, table: pa.Table, named: dict[str, str], keys: list[str], encodings: dict[str, str]
) -> None:
    with pq.ParquetWriter(
        path,
        table.schema,
        compression="zstd",
        use_dictionary=keys,
        column_encoding=encodings or None,
        store_schema=False,  # Arrow's own copy of the schema would be most of a small file
    ) as writer:
        writer.add_key_value_metadata(named)
        writer.write_table(table)


def identity_of(session_id: str, run_id: str, attempt: int, node: int | None) -> dict[str, Any]:
    """Identity of a run, for the metadata of its Parquet files."""
    return {"session_id": session_id, "run_id": run_id, "attempt": attempt, "node": node}
