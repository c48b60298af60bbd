"""The columns of the Parquet files: the writer takes its schema from them, the loader what it checks.

Every file also carries session_id, run_id and attempt, in its metadata. results.duckdb-schema/tables/ says what each
column means."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from bench.records.vocabulary import PAUSE_KINDS, SELFCHECK_KINDS, STEP_KINDS


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column of a file."""

    sql_type: Literal["INTEGER", "BIGINT", "DOUBLE", "VARCHAR"]
    required: bool = False
    """Every row has a value."""
    signed: bool = False
    """A whole number that may be below zero."""
    is_mask: bool = False
    """A whole number whose bits are flags: it has no largest value."""
    choices: tuple[str, ...] = ()
    """The values of a text; empty allows any. Load checks the first and the last in alphabetical order."""
    as_fraction: str = ""
    """The file has percent; load divides by 100, and this is the table's column."""


_INTEGER, _BIGINT = Column(sql_type="INTEGER"), Column(sql_type="BIGINT")
_DOUBLE, _TEXT = Column(sql_type="DOUBLE"), Column(sql_type="VARCHAR")
_KEY, _TEXT_KEY = replace(_INTEGER, required=True), replace(_TEXT, required=True)
_SIGNED = replace(_BIGINT, signed=True)

PARQUET_TABLES: dict[str, dict[str, Column]] = {
    "steps": {
        "rank": _KEY,
        "node": _KEY,
        "step": _KEY,
        "kind": replace(_TEXT_KEY, choices=STEP_KINDS),
        "start_ns": replace(
            _SIGNED, required=True
        ),  # counts from the ranks' common barrier, as every time does
        "step_ns": replace(_BIGINT, required=True),
        "data_ns": _SIGNED,  # phases are differences of a device's time stamps, which may be slightly off
        "forward_ns": _SIGNED,
        "backward_ns": _SIGNED,
        "optimizer_ns": _SIGNED,
        "loss": _DOUBLE,
        "memory_allocated_bytes": _BIGINT,
        "memory_reserved_bytes": _BIGINT,
    },
    "samples": {
        "node": _KEY,
        "device": replace(_INTEGER, signed=True),
        "time_ns": replace(_SIGNED, required=True),
        "gpu_util_pct": replace(_DOUBLE, as_fraction="gpu_busy_share"),
        "memory_used_bytes": _BIGINT,
        "power_w": _DOUBLE,
        "energy_j": _DOUBLE,
        "temperature_c": _DOUBLE,
        "sm_clock_mhz": _DOUBLE,
        "throttle_reasons": replace(_BIGINT, is_mask=True),
        "cpu_util_pct": replace(_DOUBLE, as_fraction="cpu_busy_share"),
        "other_cpu_pct": replace(_DOUBLE, as_fraction="other_cpu_share"),
        "rss_bytes": _BIGINT,
    },
    "evals": {
        "step": _INTEGER,
        "epoch": _DOUBLE,
        "val_loss": _DOUBLE,
        "val_accuracy": _DOUBLE,
        "elapsed_s": _DOUBLE,
        "validation_s": _DOUBLE,
    },
    "collectives": {
        "rank": _INTEGER,  # null for an exchange that was measured elsewhere
        "node": _INTEGER,
        "op": _TEXT_KEY,
        "iteration": _KEY,
        "message_bytes": _BIGINT,
        "time_ns": _BIGINT,
        "computation_ns": _BIGINT,
        "cpu_ns": _BIGINT,
        "algorithm_gbps": _DOUBLE,
        "bus_gbps": _DOUBLE,
    },
    "matmuls": {
        "rank": _KEY,
        "node": _INTEGER,
        "precision": _TEXT_KEY,
        "iteration": _KEY,
        "m": _BIGINT,
        "n": _BIGINT,
        "k": _BIGINT,
        "time_ns": _BIGINT,
        "flops_per_s": _DOUBLE,
    },
    "profile": {
        "rank": _KEY,
        "node": _INTEGER,
        "step": _KEY,
        "step_ns": _BIGINT,
        "communication_ns": _BIGINT,
        "exposed_communication_ns": _BIGINT,
        "compute_ns": _BIGINT,
    },
    "profile_collectives": {
        "rank": _KEY,
        "node": _INTEGER,
        "step": _KEY,
        "op": _TEXT_KEY,
        "calls": _INTEGER,
        "message_bytes": _BIGINT,
        "time_ns": _BIGINT,
    },
    "profile_groups": {
        "rank": _KEY,
        "node": _INTEGER,
        "step": _KEY,
        "group_name": _TEXT_KEY,
        "description": _TEXT,
        "ranks": _INTEGER,
        "calls": _INTEGER,
        "message_bytes": _BIGINT,
        "time_ns": _BIGINT,
        "exposed_ns": _BIGINT,
    },
    "rank_places": {
        "rank": _KEY,
        "node": _INTEGER,
        "device": _INTEGER,
        "gpu_uuid": _TEXT,
        "cpus": _TEXT,
    },
    "profile_timeline": {
        "rank": _KEY,
        "node": _INTEGER,
        "step": _KEY,
        "slice": _KEY,
        "begin_ns": _BIGINT,
        "slice_ns": _BIGINT,
        "compute_ns": _BIGINT,
        "communication_ns": _BIGINT,
        "exposed_communication_ns": _BIGINT,
    },
    "wire_steps": {
        "rank": _KEY,
        "node": _INTEGER,
        "step": _KEY,
        "round": _KEY,
        "message_factor": replace(_DOUBLE, required=True),
        "step_ns": replace(_BIGINT, required=True),
    },
    "pauses": {
        "rank": _KEY,
        "node": _INTEGER,
        "step": _KEY,
        "kind": replace(_TEXT_KEY, choices=PAUSE_KINDS),
        "pause_ns": replace(_BIGINT, required=True),
    },
    "selfcheck": {
        "rank": _KEY,
        "node": _INTEGER,
        "step": _KEY,
        "pair": _KEY,
        "kind": replace(_TEXT_KEY, choices=SELFCHECK_KINDS),
        "step_ns": replace(_BIGINT, required=True),
    },
}
"""Table -> column -> what its values may be. A file is named after its table; files and tables list the columns in this
order."""
