"""The result of find_batch, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis.database.rows import Row
from analysis.wording.plain_text import number


def limits(rows: Sequence[Row]) -> Iterator[str]:
    """A sentence for every row of the table batch_limits."""
    for row in rows:
        if row["largest_micro_batch"] is not None or row["too_large_micro_batch"] is not None:
            yield f"{row['case_name']} {row['placement']}: {_fits(row)}{_memory(row)}{_measured(row)}."


def reason_for_end(row: Row) -> str:
    """Why the search ended: `256: oom`."""
    if row["too_large_micro_batch"] is None:
        return "no larger one was tried"
    return f"{row['too_large_micro_batch']:,}: {row['too_large_status']}"


def division(row: Row) -> str:
    """The measured examples of a rank per optimizer step, `3 x 128`; empty if nothing was measured."""
    if row["micro_batch"] is None or row["largest_micro_batch"] is None:
        return ""
    return f"{row['accumulate']:,} x {row['micro_batch']:,}"


def _fits(row: Row) -> str:
    if row["largest_micro_batch"] is None:
        return f"not even a micro-batch of {row['too_large_micro_batch']:,} fits a rank ({row['too_large_status']})"
    return f"a micro-batch of {row['largest_micro_batch']:,} fits a rank ({reason_for_end(row)})"


def _memory(row: Row) -> str:
    used, available = row["used_bytes"], row["available_bytes"]
    if used is None or available is None:
        return ""
    return f", with {_mib(used)} of {_mib(available)} MiB"


def _mib(value: int) -> str:
    return number(value / 2**20, 3, strip=False)


def _measured(row: Row) -> str:
    parts = division(row)
    if not parts:
        return ""
    said = f"; measured with {parts} examples per rank, {row['global_batch']:,} in all"
    if 2 * row["micro_batch"] >= row["largest_micro_batch"]:
        return said
    return f"{said}: {row['batch_per_rank']:,} examples per rank divide into no larger equal parts that fit"
