"""From what ranks left on the node to Parquet: temporary name, then rename.

Done by the agent after each run; and by `finalise`, for runs that were interrupted when there was time only to
copy raw files.
"""

from __future__ import annotations

import os
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench.files import commit, raw_files, read_json, write_json
from bench.measure import evals, rank_tables, recorder, sensors
from bench.measure.recorder import KINDS, UNKNOWN, StepRows
from bench.records.vocabulary import SCHEMA_VERSION

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
    """Write `steps.nodeN.parquet` of one node's ranks, `steps.nodeN.taskM.parquet` of those that another task of that
    node than its first hosts: one writer per file. Returns the number of rows."""
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
    """Write `samples.nodeN.parquet`; times count from the run's common barrier."""
    if not len(rows):
        return
    node = identity["node"]
    columns: dict[str, pa.Array] = {
        "node": pa.array(np.full(len(rows), node, np.int32)),
        "device": pa.array(rows["device"].astype(np.int32), mask=rows["device"] == sensors.HOST),
        "time_ns": pa.array(rows["time_ns"] - barrier_ns),
    }
    for name in sensors.ROW.names or ():
        if name not in columns:
            values = np.ascontiguousarray(rows[name])
            missing = np.isnan(values)
            whole = name.endswith("_bytes") or name == "throttle_reasons"
            kept = np.where(missing, 0, values).astype(np.int64) if whole else values
            columns[name] = pa.array(kept, mask=missing)
    table = pa.table(columns)
    _write(
        folder / f"samples.node{node}.parquet",
        table,
        identity,
        _SAMPLE_KEYS,
        {"time_ns": "DELTA_BINARY_PACKED"},
    )


def write_evals(folder: Path, identity: dict[str, Any], rows: np.ndarray[Any, np.dtype[Any]]) -> None:
    """Write `evals.parquet` of rows of bench/measure/evals.py; nothing where there are none."""
    if not len(rows):
        return
    columns = {name: pa.array(np.ascontiguousarray(rows[name])) for name in evals.ROW.names or ()}
    columns["step"] = columns["step"].cast(pa.int32())
    columns["val_accuracy"] = pa.array(rows["val_accuracy"], mask=np.isnan(rows["val_accuracy"]))
    _write(folder / "evals.parquet", pa.table(columns), identity, [], {})


def write_rank_tables(raws: Path, folder: Path, run: tuple[str, str, int]) -> None:
    """Write `TABLE.nodeN.parquet` into `folder`, with the suffix of `write_steps` where an agent is not its node's
    first, of the files that ranks left in `raws` (bench/measure/rank_tables.py). `run`: session, run and attempt."""
    written = [file for file in rank_tables.read(raws) if len(file.rows)]
    of_one = attrgetter("table", "writer.node", "writer.local_task")
    for (table, node, task), files in groupby(written, key=of_one):
        name = f"{table}.node{node}.task{task}.parquet" if task else f"{table}.node{node}.parquet"
        tables = [_rank_table(file) for file in files]
        whole = pa.concat_tables([*_of_other_ranks(folder / name, tables), *tables])
        keys = [field.name for field in whole.schema if pa.types.is_string(field.type)]
        _write(folder / name, whole, identity_of(*run, node), ["rank", "node", *keys], {})


def finalise_run(run_json: Path) -> None:
    """Make Parquet of an interrupted run's raw files. Raises ValueError, KeyError, TypeError or OSError where they
    cannot be read or stored: then they are left as they were."""
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
    """What is in the file already, of ranks that `tables` have nothing of: a keeper may bring the rest of the ranks
    later, and also again what was stored already when its agent ended. A rank's raw file has all of its rows."""
    if not path.exists():
        return []
    there = pq.read_table(path).cast(tables[0].schema)
    new = pa.chunked_array([chunk for table in tables for chunk in table["rank"].chunks])
    return [there.filter(pc.invert(pc.is_in(there["rank"], value_set=pc.unique(new))))]


def _task(rows: StepRows) -> tuple[int, int]:
    """Node, and task of that node, that a rank ran on."""
    return rows.identity["node"], rows.identity.get("local_task", 0)


def _step_table(rows: StepRows) -> pa.Table:
    count = len(rows.words)
    phases = {name: rows.column(name) for name in ("data_ns", "forward_ns", "backward_ns", "optimizer_ns")}
    columns: dict[str, pa.Array] = {
        "rank": pa.array(np.full(count, rows.identity["rank"], np.int32)),
        "node": pa.array(np.full(count, rows.identity["node"], np.int32)),
        "step": pa.array(np.arange(count, dtype=np.int32)),
        "kind": pa.array([KINDS[int(kind)] for kind in rows.column("kind")]),
        "start_ns": pa.array(rows.column("start_ns")),
        "step_ns": pa.array(sum(phases.values())),
    }
    columns |= {name: pa.array(values) for name, values in phases.items()}
    columns["loss"] = pa.array(rows.column("loss"))
    for name in ("memory_allocated_bytes", "memory_reserved_bytes"):
        values = rows.column(name)
        columns[name] = pa.array(values, mask=values == UNKNOWN)
    return pa.table(columns)


def _rank_table(file: rank_tables.Written) -> pa.Table:
    place = {"rank": file.writer.rank, "node": file.writer.node}
    columns = {name: pa.array(np.full(len(file.rows), value, np.int32)) for name, value in place.items()}
    return pa.table(columns | {name: _column(file.rows[name]) for name in file.rows.dtype.names or ()})


def _column(values: np.ndarray[Any, np.dtype[Any]]) -> pa.Array:
    """Null where the rank did not know."""
    values = np.ascontiguousarray(values)
    if values.dtype.kind == "S":
        return pa.array(values.astype(str))
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
        raise OSError(error.errno, reason, str(path)) from error  # a full disk does not say where


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
    """What every Parquet file says of itself."""
    return {"session_id": session_id, "run_id": run_id, "attempt": attempt, "node": node}
