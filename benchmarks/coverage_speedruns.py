"""A table of coverage.py: how often two halves of the same runs differ, for real trainings instead of made-up ones.

The file has a row for each training: `cell` and `steps` say which are alike, `seconds` how long it took, `finished`
when it ended. The shipped macro `log_ratio` compares the halves of each group, whose rounds are unknown.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from analysis.database import schema

Array = np.ndarray[Any, np.dtype[Any]]
HALVES = 100
"""Random halves of each group."""
LEAST = 8
"""Runs of a group."""
DIFFERS = """
    WITH runs AS (
        SELECT pair, first, list({'block': run, 'value': value}) AS logs FROM made_up GROUP BY pair, first
    ),
    ratios AS (
        SELECT one.pair, log_ratio(one.logs, other.logs) AS ratio
        FROM runs AS one JOIN runs AS other ON one.pair = other.pair AND one.first AND NOT other.first
    )
    SELECT coalesce(ratio.lo > 0 OR ratio.hi < 0, false) AS differs FROM ratios ORDER BY pair
"""


def groups(path: Path) -> list[Array]:
    """ln(steps/s) of the runs of each group, in the order of time."""
    found: dict[tuple[str, str], list[tuple[str, float]]] = defaultdict(list)
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            speed = float(row["steps"]) / float(row["seconds"])
            found[row["cell"], row["steps"]].append((row["finished"], speed))
    return [
        np.log([speed for _, speed in sorted(runs)])
        for _, runs in sorted(found.items())
        if len(runs) >= LEAST
    ]


def differ(connection: duckdb.DuckDBPyConnection, groups_of_logs: list[Array]) -> Array:
    """Whether the first half of each group differs from the second."""
    counts = [len(logs) for logs in groups_of_logs]
    run = np.concatenate([np.arange(count) for count in counts])
    made_up = {
        "pair": np.repeat(np.arange(len(counts)), counts),
        "first": run < np.repeat(counts, counts) // 2,
        "run": run,
        "value": np.concatenate(groups_of_logs),
    }
    connection.register("made_up", pa.table(made_up))
    return np.asarray(connection.execute(DIFFERS).fetchnumpy()["differs"], dtype=bool)


def lines(path: Path, seed: int) -> Iterator[str]:
    """The table, line by line."""
    rng = np.random.default_rng(seed)
    found = groups(path)
    with duckdb.connect() as connection:
        schema.create(connection)
        halves = differ(connection, [rng.permutation(logs) for logs in found for _ in range(HALVES)])
        of_group = halves.reshape(len(found), HALVES).mean(axis=1)
        in_time = differ(connection, found)
    yield f"| {len(found)} groups of {LEAST} runs or more | differ |"
    yield "| --- | ---: |"
    yield f"| {HALVES} random halves of each, mean | {100 * of_group.mean():.1f} % |"
    yield f"| halves in the order of time | {in_time.sum()} of {len(found)} |"
