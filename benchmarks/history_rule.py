"""How often the views `regressions` and `gradual_regressions` report a false regression, and how often a real one.

python benchmarks/history_rule.py --draws 200

Twenty sessions of one placement: ln(throughput) differs between sessions and between repeats by normal deviations; the
last session is a tenth slower. Made-up runs go into a database with the project's own tables, and the view judges them.
Prints a Markdown table with six shares: sessions 5 to 19 wrongly called slower; the same by the intervals over repeats
alone, for comparison; sessions 2 to 4 wrongly called slower, for which repeats alone decide; last sessions rightly
called slower; sessions 5 to 19 that are gradual regressions, wrongly; and series whose 19th session is one, rightly:
there, every session is 1 % slower than the one before.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb
import numpy as np
import pyarrow as pa

from analysis.database import schema
from analysis.loading.derive import derive_and_diagnose

SESSIONS = 20
FIRST_JUDGED = 5
"""The first session after three pairs of sessions, which show the usual variation."""
SLOWER = 0.1
DRIFT = 0.01
BETWEEN = (0.0, 0.005, 0.01, 0.02, 0.03)
WITHIN = 0.01
REPEATS = (3, 5)
RUN = """
    session_id, run_id, 0 AS attempt, suite, 'case' AS case_name, 'made' AS workload, 'ddp' AS strategy,
    'strong' AS scaling_mode, 'ranks' AS axis, false AS oversubscribed, 1 AS nodes, 1 AS threads, 2 AS ranks_per_node,
    2 AS workers, 2 AS world_size, 'cuda' AS device_type, 'GPU' AS device_name, 'ok' AS status, repeat,
    64 AS examples_per_step, '{"settings": "a"}'::JSON AS fingerprint, '{}'::JSON AS config
"""
SESSION = "session_id, suite, '2026-01-01'::TIMESTAMP + to_days(day::INTEGER) AS created_at, false AS quick"
STATS = "session_id, run_id, 0 AS attempt, 100 AS measured_steps, span_ns"
JUDGED = f"""
    SELECT
        avg(regression::INTEGER) FILTER (session_order BETWEEN {FIRST_JUDGED} AND {SESSIONS - 1}),
        avg((ratio_hi < 1 - 0.02)::INTEGER) FILTER (session_order BETWEEN {FIRST_JUDGED} AND {SESSIONS - 1}),
        avg(regression::INTEGER) FILTER (session_order BETWEEN 2 AND {FIRST_JUDGED - 1}),
        avg(regression::INTEGER) FILTER (session_order = {SESSIONS})
    FROM history
"""
GRADUAL = f"""
    SELECT
        count(*) FILTER (session_order BETWEEN {FIRST_JUDGED} AND {SESSIONS - 1}) / {SESSIONS - FIRST_JUDGED},
        count(*) FILTER (session_order = {SESSIONS - 1})
    FROM gradual_regressions
"""


def shares(
    connection: duckdb.DuckDBPyConnection,
    random: np.random.Generator,
    draws: int,
    repeats: int,
    between: float,
) -> tuple[float, ...]:
    """The six shares of the table."""
    shape = (draws, SESSIONS, repeats)
    logs = random.normal(0, WITHIN, shape) + random.normal(0, between, (draws, SESSIONS, 1))
    logs[:, -1] += np.log(1 - SLOWER)
    with made_up(connection, logs):
        ((false, by_repeats, early, found),) = connection.execute(JUDGED).fetchall()
        ((gradual, _),) = connection.execute(GRADUAL).fetchall()
    logs += np.log(1 - DRIFT) * np.arange(SESSIONS)[:, None]
    with made_up(connection, logs):
        ((_, gradual_found),) = connection.execute(GRADUAL).fetchall()
    return false, by_repeats, early, found, gradual / draws, gradual_found / draws


@contextmanager
def made_up(connection: duckdb.DuckDBPyConnection, logs: np.ndarray) -> Iterator[None]:
    """During the block the database has runs with these ln(throughput), of shape (suites, sessions, repeats)."""
    suite, day, repeat = (index.ravel() for index in np.indices(logs.shape))
    session_id = np.char.add(np.char.add(suite.astype(str), "-"), day.astype(str))
    runs = {
        "suite": suite.astype(str),
        "day": day,
        "session_id": session_id,
        "repeat": repeat,
        "run_id": repeat.astype(str),
        "span_ns": (1e9 * np.exp(-logs.ravel())).astype(np.int64),
    }
    connection.begin()
    connection.register("made_up", pa.table(runs))
    for table, columns in {"sessions": SESSION, "runs": RUN, "run_stats": STATS}.items():
        connection.execute(f"INSERT INTO {table} BY NAME SELECT DISTINCT {columns} FROM made_up")
    derive_and_diagnose(
        connection, np.unique(session_id).tolist(), (), wanted=["history", "gradual_regressions"]
    )
    yield
    connection.rollback()  # for the next draws


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--draws", type=int, default=200)
    draws = parser.parse_args().draws
    random = np.random.default_rng(0)
    with duckdb.connect() as connection:
        schema.create(connection)
        early = f"in sessions 2 to {FIRST_JUDGED - 1}"
        print(
            f"| between sessions | repeats | called slower | by repeats alone | {early} | a tenth slower is found "
            "| gradual regression | 1 % a session is found |"
        )
        print("| --- | --- | --- | --- | --- | --- | --- | --- |")
        for between in BETWEEN:
            for repeats in REPEATS:
                of = shares(connection, random, draws, repeats, between)
                cells = " | ".join(f"{100 * share:.1f} %" for share in of)
                print(f"| {100 * between:g} % | {repeats} | {cells} |")


if __name__ == "__main__":
    main()
