"""A table of coverage.py: how often `stragglers` blames a rank although none is slow, and finds a slow one.

A rank's time before it first waits differs from repeat to repeat by a normal deviation, in fractions of the step. The
slow rank takes a tenth of the step longer. Made-up runs go into a database with the project's own tables, and the view
judges them.
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
DEVIATIONS = (0.005, 0.01, 0.02, 0.05)
SHAPES = ((2, 3), (8, 2), (8, 3), (64, 3), (64, 5))
"""Ranks and repeats."""
RUN = """
    'ok' AS status, 'case' AS case_name, 'ddp' AS strategy, 'none' AS scaling_mode, 'ranks' AS axis,
    false AS oversubscribed,
    1 AS nodes, 1 AS threads, $ranks AS ranks_per_node, $ranks AS workers, $ranks AS world_size, run_id AS repeat
"""
TABLES = {
    "runs": RUN,
    "run_stats": f"{STEP_NS} AS step_ns_mean",
    "run_rank_stats": "rank, 0 AS node, data_ns_mean, 0 AS forward_ns_mean",
}


def blamed(connection: duckdb.DuckDBPyConnection, times: Array) -> Array:
    """The view's verdicts, bool [draws, ranks], for times [draws, repeats, ranks]; one session per draw."""
    draws, _repeats, ranks = times.shape
    draw, repeat, rank = (index.ravel() for index in np.indices(times.shape))
    data_ns = STEP_NS * (1 + times.ravel())
    made_up = {"session_id": draw, "run_id": repeat, "rank": rank, "data_ns_mean": data_ns}
    connection.begin()
    connection.register("made_up", pa.table(made_up))
    for table, columns in TABLES.items():
        connection.execute(
            f"INSERT INTO {table} BY NAME SELECT DISTINCT session_id, run_id, 0 AS attempt, {columns} FROM made_up",
            {"ranks": ranks} if table == "runs" else {},
        )
    derive_and_diagnose(connection, [str(session) for session in range(draws)], (), wanted=["stragglers"])
    found = connection.execute(
        "SELECT is_straggler FROM stragglers ORDER BY session_id::INTEGER, rank"
    ).fetchnumpy()["is_straggler"]
    connection.rollback()  # for the next draws
    return np.asarray(found, dtype=bool).reshape(draws, ranks)


def lines(draws: int, seed: int) -> Iterator[str]:
    """The table, line by line."""
    random = np.random.default_rng(seed)
    yield f"| ranks | repeats |{''.join(f' {100 * deviation:g} % |' for deviation in DEVIATIONS)}"
    yield "| --- " * 6 + "|"
    with duckdb.connect() as connection:
        schema.create(connection)
        for ranks, repeats in SHAPES:
            noise = random.standard_normal((draws, repeats, ranks))
            yield f"| {ranks} | {repeats} |{''.join(_cell(connection, one * noise) for one in DEVIATIONS)}"


def _cell(connection: duckdb.DuckDBPyConnection, times: Array) -> str:
    """Shares of sessions in which a rank is blamed although none is slow, and in which a slow rank 0 is found."""
    wrongly = blamed(connection, times).any(axis=1).mean()
    times[:, :, 0] += SLOWER
    return f" {100 * wrongly:.1f} %, found {100 * blamed(connection, times)[:, 0].mean():.0f} % |"
