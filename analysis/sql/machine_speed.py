"""Measured speed of a machine's network and matrix multiplication; `bench predict` bases its answers on it."""

from __future__ import annotations

from pathlib import Path

from analysis.database import connections
from analysis.database.rows import Row, fetch_rows


def measured(results: Path, device_type: str) -> dict[str, list[Row]]:
    """`fabric`: fitted lines of time over bytes; `matmul`: the fastest multiplications; `ranks`: runs that trained on
    one rank. All are empty if there is no database.

    Raises AnalysisError if the database cannot be read."""
    names = ("fabric", "matmul", "ranks")
    if not connections.database_path(results).is_file():
        return {name: [] for name in names}
    with connections.reader(results) as connection:
        return {name: fetch_rows(connection, _query(name), {"device_type": device_type}) for name in names}


def _query(name: str) -> str:
    return Path(__file__).with_name(f"{name}_speed.sql").read_text(encoding="utf-8")
