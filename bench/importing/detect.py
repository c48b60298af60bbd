"""Detect a file's format."""

from __future__ import annotations

from pathlib import Path

from bench.common.errors import InputError
from bench.importing.formats import (
    csv_file,
    mllog,
    nccl_json,
    nccl_text,
    published,
    slurm_log,
    table,
    trace_events,
)
from bench.importing.parse_cells import MAX_BYTES_OF_TABLES, Source

FORMATS = ("csv", "table", "log", "mllog", "nccl", "published", "trace", "operations")
_PARQUET = b"PAR1"


def detect_profile(path: Path) -> str | None:
    """One of PROFILES; null for a file of text. Raises InputError if the file cannot be read."""
    if trace_events.matches(path):
        return "trace"
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return "operations" if file.read(len(_PARQUET)) == _PARQUET else None


def detect_format(source: Source) -> str:
    """One of FORMATS. Raises InputError if the file has none of them."""
    if mllog.matches(source):
        return "mllog"
    if source.size_bytes > MAX_BYTES_OF_TABLES:
        return "log"  # only logs may be as large
    if published.matches(source):
        return "published"
    if nccl_json.matches(source) or nccl_text.matches(source):
        return "nccl"
    if csv_file.matches(source):
        return "csv"
    if slurm_log.matches(source):
        return "log"
    if table.matches(source):
        return "table"
    raise InputError(
        f"{source.name}: neither a CSV (first line {','.join(csv_file.REQUIRED)}), nor a table (a line of headings "
        "such as `GPUs  Time (s)`), nor a log (a line `Total training time: 362.45 s`), nor output of nccl-tests (its "
        "JSON or its table), nor a published table (a .toml file), nor a trace of torch.profiler, nor a Parquet file "
        "of operations; choose one with --format"
    )
