"""A table of coverage.py: how often a session calls a size retrograde although none is slower, and finds a slower one.

Throughput doubles from 1 to 2 ranks and then stays the same. Repeats differ by a log-normal deviation. Made-up runs go
into a database with the project's own tables, and the table `scaling` judges them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from analysis.database import schema
from analysis.loading.derive import derive_and_diagnose

Array = np.ndarray[Any, np.dtype[Any]]
STEP_NS = 100_000_000
SLOWER = 0.1
DEVIATIONS = (0.005, 0.02, 0.05)
SHAPES = ((1, 6, 1), (1, 6, 3), (1, 6, 5), (4, 6, 3), (4, 6, 5))
"""Cases, sizes and repeats."""
RUN = """
    'ok' AS status, 'ddp' AS strategy, 'strong' AS scaling_mode, 'ranks' AS axis, 64 AS examples_per_step,
    false AS oversubscribed, 1 AS nodes, 1 AS threads, workers, workers AS ranks_per_node, workers AS world_size,
    case_name, repeat
"""
TABLES = {"runs": RUN, "run_stats": "100 AS measured_steps, span_ns"}


def retrograde(connection: duckdb.DuckDBPyConnection, slowdown: Array) -> Array:
    """The sizes that are called retrograde, bool [draws, cases, sizes], for ln(time ÷ that of the plateau) [draws,
    cases, sizes, repeats]; one session per draw."""
    draw, case, size, repeat = (index.ravel() for index in np.indices(slowdown.shape))
    ideal = np.where(size == 0, 2, 1) * 100 * STEP_NS
    made_up = {
        "session_id": draw,
        "case_name": case,
        "workers": 2**size,
        "repeat": repeat,
        "span_ns": np.rint(ideal * np.exp(slowdown.ravel())).astype(np.int64),
    }
    connection.begin()
    connection.register("made_up", pa.table(made_up))
    for table, columns in TABLES.items():
        connection.execute(
            f"INSERT INTO {table} BY NAME SELECT session_id, case_name || '.' || workers || '.' || repeat AS run_id, "
            f"0 AS attempt, {columns} FROM made_up"
        )
    sessions = [str(session) for session in range(len(slowdown))]
    derive_and_diagnose(connection, sessions, (), wanted=["scaling"])
    found = connection.execute(
        "SELECT verdict IS NOT DISTINCT FROM 'retrograde' AS is_it FROM scaling "
        "ORDER BY session_id::INTEGER, case_name::INTEGER, workers"
    ).fetchnumpy()["is_it"]
    connection.rollback()  # for the next draws
    return np.asarray(found, dtype=bool).reshape(slowdown.shape[:3])


def lines(draws: int, seed: int) -> Iterator[str]:
    """The table, line by line."""
    random = np.random.default_rng(seed)
    yield f"| cases | repeats |{''.join(f' {100 * deviation:g} % |' for deviation in DEVIATIONS)}"
    yield "| --- " * 5 + "|"
    with duckdb.connect() as connection:
        schema.create(connection)
        for cases, sizes, repeats in SHAPES:
            noise = random.standard_normal((draws, cases, sizes, repeats))
            yield f"| {cases} | {repeats} |{''.join(_cell(connection, one * noise) for one in DEVIATIONS)}"


def _cell(connection: duckdb.DuckDBPyConnection, slowdown: Array) -> str:
    """Shares of sessions in which a size is called retrograde although none is slower, and in which the largest size
    of the first case is found if it takes longer."""
    wrongly = retrograde(connection, slowdown).any(axis=(1, 2)).mean()
    slower = slowdown.copy()
    slower[:, 0, -1] += np.log1p(SLOWER)
    return f" {100 * wrongly:.1f} %, found {100 * retrograde(connection, slower)[:, 0, -1].mean():.0f} % |"
