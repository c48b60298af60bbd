"""What a database knows of the machine that it was measured on: for predictions of what nobody ran."""

from __future__ import annotations

from pathlib import Path

from analysis import database
from analysis.fetched import Row, fetched


def measured(results: Path, device_type: str) -> dict[str, list[Row]]:
    """`fabric`: lines of time over bytes; `matmul`: the fastest multiplications. Both empty where there is no database.
    Raises AnalysisError where one cannot be read."""
    names = ("fabric", "matmul")
    if not database.database_path(results).is_file():
        return {name: [] for name in names}
    with database.reader(results) as connection:
        return {name: fetched(connection, _query(name), {"device_type": device_type}) for name in names}


def _query(name: str) -> str:
    return Path(__file__).with_name(f"known_{name}.sql").read_text(encoding="utf-8")
