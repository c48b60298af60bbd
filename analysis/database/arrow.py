"""The answer to a query as Arrow. DuckDB 1.4 has other names for this, which later versions have deprecated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 8192


def table(answer: duckdb.DuckDBPyConnection) -> pa.Table:
    """All rows of an executed query."""
    return answer.to_arrow_table() if hasattr(answer, "to_arrow_table") else answer.fetch_arrow_table()  # type: ignore[attr-defined]


def reader(relation: duckdb.DuckDBPyRelation) -> pa.RecordBatchReader:
    """Rows in batches."""
    new = hasattr(relation, "to_arrow_reader")
    return relation.to_arrow_reader(BATCH_ROWS) if new else relation.fetch_arrow_reader(BATCH_ROWS)
