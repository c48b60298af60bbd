"""A table of coverage.py: how often intervals of time_to_target contain the truth, for made-up trainings to a target.

Runs of two sizes are made up, and the project's own query compares them. Both sizes have the same rounds, whose speed
drifts. The larger size misses the target by chance with the given probability. The truth is the ratio of both medians
over infinitely many repeats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from analysis.database import schema

Array = np.ndarray[Any, np.dtype[Any]]
Draw = Callable[[np.random.Generator, tuple[int, ...]], Array]
SECONDS = (25.0, 16.0)
"""Time that a typical run needs, at each size."""
DRIFT = 0.03
"""Standard deviation of what a round's runs have in common, in ln(seconds)."""
VALIDATIONS = 20
"""Validations of a typical run: at one of them it ends."""
NEEDS: dict[str, Draw] = {
    "log-normal": lambda rng, shape: rng.normal(0, 0.15, shape),
    "skewed (gamma of shape 8)": lambda rng, shape: np.log(rng.gamma(8, 1 / 8, shape)),
    "heavy tails (t of 4)": lambda rng, shape: 0.1 * rng.standard_t(4, shape),
}
"""Distributions of ln(time needed) over seeds."""
_TRUTH_DRAWS = 400_000
_REPEATS = (6, 10, 20)
_MISSING = (0.0, 0.1, 0.3)
"""Share of runs of the larger size that miss the target."""
_COLUMNS = ("session_id", "run_id")
_TARGET = {
    "attempt": 0, "case_name": "weak", "axis": "ranks", "nodes": 1, "threads": 1, "workload": "made",
    "data_source": "made", "device_type": "cpu", "status": "ok", "until_loss": 1.0, "setup_s": 0.0,
}  # fmt: skip


def times(draw: Draw, size: int, drift: Array, rng: np.random.Generator) -> Array:
    """Seconds to the target; `drift`: [draws, repeats], of the rounds."""
    grid = SECONDS[size] / VALIDATIONS
    return np.asarray(np.ceil(SECONDS[size] * np.exp(draw(rng, drift.shape)) / grid) * grid * np.exp(drift))


def plant(connection: duckdb.DuckDBPyConnection, size: int, seconds: Array, limit: float) -> None:
    """Insert runs, a session for each draw; those that need more than `limit` miss the target."""
    draws, repeats = seconds.shape
    made = pa.table(
        {
            "session_id": [f"{draw:06d}" for draw in range(draws) for _ in range(repeats)],
            "run_id": [f"{size}.r{repeat}" for _ in range(draws) for repeat in range(repeats)],
            "seconds": seconds.ravel(),
        }
    )
    connection.register("made", made)
    same = ", ".join(f"{value!r} AS {name}" for name, value in _TARGET.items())
    connection.execute(f"""
        INSERT INTO run_summary BY NAME
        SELECT session_id, run_id, {same}, '{size}' AS point_id, {size + 1} AS workers, {size + 1} AS ranks_per_node
        FROM made
    """)
    connection.execute(
        "INSERT INTO runs BY NAME SELECT session_id, run_id, 0 AS attempt, '{}' AS config FROM made"
    )
    connection.execute(f"""
        INSERT INTO evals BY NAME
        SELECT session_id, run_id, 0 AS attempt, 10 AS step, if(seconds <= {limit}, 1, 2) AS val_loss,
            seconds AS elapsed_s, 0 AS validation_s
        FROM made
    """)


def coverage(draw: Draw, repeats: int, missing: float, draws: int, seed: int) -> tuple[float, float, float]:
    """Shares of the draws that have an interval, and of these that hold the truth; the median of an interval's upper
    end ÷ its lower end."""
    rng = np.random.default_rng(seed)
    many = [times(draw, size, rng.normal(0, DRIFT, (1, _TRUTH_DRAWS)), rng) for size in (0, 1)]
    truth = float(np.median(many[0]) / np.median(many[1]))
    limits = (1e9, float(np.quantile(many[1], 1 - missing)) if missing else 1e9)
    drift = rng.normal(0, DRIFT, (draws, repeats))
    with duckdb.connect() as connection:
        schema.create(connection)
        for size, limit in enumerate(limits):
            plant(connection, size, times(draw, size, drift, rng), limit)
        connection.execute(f"CREATE TEMP TABLE found AS {schema.text('time_to_target')}")
        found = connection.execute(f"""
            SELECT
                avg((speedup_lo * speedup_hi IS NOT NULL)::INT), avg(({truth} BETWEEN speedup_lo AND speedup_hi)::INT),
                median(speedup_hi / speedup_lo)
            FROM found WHERE NOT is_baseline
        """).fetchone()
    assert found
    return found[0], found[1], found[2]


def lines(draws: int, seed: int) -> Iterator[str]:
    """The table, line by line."""
    yield "| time needed | repeats | miss the target | have an interval | it holds | median width |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for name, draw in NEEDS.items():
        for repeats in _REPEATS:
            for missing in _MISSING:
                shown, held, width = coverage(draw, repeats, missing, draws, seed)
                right = f"{held:.1%} | ×/÷ {width**0.5:.2f}" if shown else "|"
                yield f"| {name} | {repeats} | {missing:.0%} | {shown:.0%} | {right} |"
