"""Measure how long every view takes over 50 million step rows, and a query for exact medians and p95 of raw rows.

python benchmarks/views.py RESULTS

Makes a session of that size in RESULTS if there is none (some minutes, 3 GB), derives the same tables as load, and
prints a Markdown table. Times end when all rows have been fetched as Arrow. `first` is on a new connection: DuckDB
reads the columns from the file, which the system may have cached. `warm` is the median and `least` the minimum of the
next five. `processor` is the least processor time of one, over all threads: other load affects it less.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from pathlib import Path

import duckdb
from synthetic_session import make

from analysis.database import connections, schema

SESSION = "20261121T014925Z-synthetic-large"
SHAPE: dict[str, int | float | str] = {
    "cases": 50,
    "smallest_power": 0,
    "largest_power": 6,
    "repeats": 3,
    "steps": 2625,
    "ranks_per_node": 8,
    "evals": 5,
    "sample_hz": 5.0,
    "device_type": "cuda",
}
"""50 cases x 3 repeats at 1, 2, 4 ... 64 ranks: 1,050 runs of 2,625 steps, 127 ranks for each case and repeat."""
ONE_RUN = f"WHERE session_id = '{SESSION}' AND run_id = 'case_0000.8x8.r0'"
PER_STEP = {"training_steps"}
"""Views with a row per step; they are queried for one run."""
MACROS = {
    "compare": f"FROM compare('{SESSION}', '{SESSION}')",
    "compare_cases": f"FROM compare_cases('{SESSION}', 'case_0000', 'case_0001')",
    "validation_curves": "FROM validation_curves(val_loss)",
}
"""Calls of table macros, which need arguments."""
RAW = """
SELECT session_id, run_id, attempt, quantile_disc(step_ns, [0.5, 0.95]) AS median_and_p95_ns
FROM steps
WHERE kind = 'measured'
GROUP BY session_id, run_id, attempt
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("results", type=Path)
    results = parser.parse_args().results
    if not connections.database_path(results).exists():
        began = time.perf_counter()
        rows = make(results, session_id=SESSION, memory_limit="5GB", **SHAPE)
        print(f"{rows:,} step rows made in {time.perf_counter() - began:.0f} s\n")
    print("| asked | rows | first | warm | least | processor |\n| --- | --- | --- | --- | --- | --- |")
    for name, query in queries().items():
        print(_line(results, name, query), flush=True)
    print(f"\nLargest resident set: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


def queries() -> dict[str, str]:
    """Queries of every view and table macro, by name, and last the query over raw rows."""
    asked = {
        name: f"FROM {name} {ONE_RUN if name in PER_STEP else ''}".rstrip()
        for name in [*schema.derived(), *schema.views()]
    }
    return asked | MACROS | {"exact quantiles from `steps`": RAW}


def _line(results: Path, name: str, query: str) -> str:
    with connections.reader(results) as connection:
        first, _, rows = _timed(connection, query)
        again = [_timed(connection, query) for _ in range(5)]
    walls, processor = [wall for wall, _, _ in again], min(used for _, used, _ in again)
    shown = (first, statistics.median(walls), min(walls), processor)
    ms = " | ".join(f"{1e3 * value:,.0f} ms" for value in shown)
    asked = f"{name}, one run" if name in PER_STEP else name
    return f"| {asked} | {rows:,} | {ms} |"


def _timed(connection: duckdb.DuckDBPyConnection, query: str) -> tuple[float, float, int]:
    """Wall-clock seconds, processor seconds, and number of rows."""
    began, used = time.perf_counter(), time.process_time()
    rows = connection.sql(query).to_arrow_table().num_rows
    return time.perf_counter() - began, time.process_time() - used, rows


if __name__ == "__main__":
    main()
