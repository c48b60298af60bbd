"""Detect a file's format."""

from __future__ import annotations

from bench.common.errors import InputError
from bench.importing.formats import csv_file, nccl_json, nccl_text, slurm_log, table
from bench.importing.parse_cells import MAX_BYTES_OF_TABLES, Source

FORMATS = ("csv", "table", "log", "nccl")


def detect_format(source: Source) -> str:
    """One of FORMATS. Raises InputError if the file has none of them."""
    if source.size_bytes > MAX_BYTES_OF_TABLES:
        return "log"  # only logs may be as large
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
        "JSON or its table); choose one with --format"
    )
