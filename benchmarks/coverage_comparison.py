"""A table of coverage.py: how often `bench compare` finds a planted difference, and one where there is none.

Two made-up sessions of twelve rows, whose runs vary by 2 %, go into a database with the project's own tables, and its
own macro `compare` judges them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import duckdb
import numpy as np
import polars as pl

from analysis.database import schema
from analysis.loading.derive import derive_and_diagnose

Array = np.ndarray[Any, np.dtype[Any]]
ROWS = 12
NOISE = 0.02
"""Standard deviation of ln(throughput) between the runs of a row."""
_BATCH = 100
"""Comparisons that share a database: each searches the runs of all."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """The candidate's effect on throughput."""

    name: str
    shared: float = 0.0
    """Share by which every row is slower."""
    slower: tuple[int, float] = (0, 0.0)
    """Number of rows that are slower beyond that, and the share."""
    noise: float = NOISE
    asked: Sequence[tuple[str, str]]
    """A column of the table, and the SQL that gives it as a share of comparisons; `planted`: the row is slower beyond
    what all share."""


_FALSE = "coalesce(bool_or(verdict IN ('faster', 'slower')) FILTER (NOT planted), false)"
_FOUND = "avg((verdict = 'slower')::INTEGER) FILTER (planted)"
_SENTENCE = "bool_or(shared_ratio IS NOT NULL)"
_SAME = "avg((verdict = 'same')::INTEGER)"
CHANGES = (
    Change(
        name="equal",
        asked=[
            ("an interval excludes 1", "bool_or(ratio_lo > 1 OR ratio_hi < 1)"),
            ("any row faster or slower", _FALSE),
            ("rows called same", _SAME),
            ("all rows moved (wrong)", _SENTENCE),
        ],
    ),
    Change(name="equal, noise of 1 %", noise=0.01, asked=[("rows called same", _SAME)]),
    Change(
        name="3 of 12 rows 5 % slower",
        slower=(3, 0.05),
        asked=[("found", _FOUND), ("any other row", _FALSE), ("all rows moved (wrong)", _SENTENCE)],
    ),
    Change(name="5 of 12 rows 5 % slower", slower=(5, 0.05), asked=[("all rows moved (wrong)", _SENTENCE)]),
    Change(name="1 of 12 rows 10 % slower", slower=(1, 0.1), asked=[("found", _FOUND)]),
    Change(name="all rows 2 % slower", shared=0.02, asked=[("rows called same (wrong)", _SAME)]),
    Change(name="all rows 3 % slower", shared=0.03, asked=[("all rows moved", _SENTENCE)]),
    Change(
        name="all rows 3 % slower, one 10 % more",
        shared=0.03,
        slower=(1, 0.1),
        asked=[
            ("all rows moved", _SENTENCE),
            ("that row named", "bool_or(differs AND planted)"),
            ("another row named", "bool_or(differs AND NOT planted)"),
        ],
    ),
)


@cache
def _database() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    schema.create(connection)
    return connection


def shares(change: Change, repeats: int, draws: int, rng: np.random.Generator) -> list[float]:
    """One share of comparisons for each of `change.asked`."""
    count, loss = change.slower
    logs = np.full(ROWS, np.log1p(-change.shared)) + np.log1p(-loss) * (np.arange(ROWS) < count)
    found = judged(logs, change.noise, repeats, draws, rng, [sql for _, sql in change.asked])
    # null: the question does not arise, such as which row is named beyond what all share
    return [float(np.mean([x for x in column if x is not None])) for column in zip(*found, strict=True)]


def seen(repeats: int, draws: int, rng: np.random.Generator) -> tuple[float, float]:
    """The change that the median row of equal sessions would have seen, and how often a row changed so is found."""
    query = ["median(coalesce(change_seen, 9)) FILTER (change_seen IS NOT NULL OR verdict = 'inconclusive')"]
    shown = [
        row[0] for row in judged(np.zeros(ROWS), NOISE, repeats, draws, rng, query) if row[0] is not None
    ]
    change = float(np.median(shown))
    logs = -np.log1p(change) * (np.arange(ROWS) < 1)
    found = judged(logs, NOISE, repeats, draws, rng, ["bool_or(verdict = 'slower' AND planted)"])
    return change, float(np.mean([row[0] for row in found]))


def judged(
    logs: Array, noise: float, repeats: int, draws: int, rng: np.random.Generator, asked: Sequence[str]
) -> list[tuple[Any, ...]]:
    """The answers of every draw. `logs`: ln(ratio) of each row; those below the median are planted."""
    planted = ", ".join(f"'c{row}'" for row in np.flatnonzero(logs < np.median(logs) - 1e-9)) or "''"
    query = f"""
        SELECT {", ".join(asked)}
        FROM range($1) AS draws(draw), LATERAL (
            SELECT *, case_name IN ({planted}) AS planted FROM compare('a' || draw, 'b' || draw)
        )
        GROUP BY draw
    """
    answers: list[tuple[Any, ...]] = []
    connection = _database()
    for first in range(0, draws, _BATCH):
        batch = min(_BATCH, draws - first)
        connection.begin()
        for side, shift in (("a", np.zeros(ROWS)), ("b", logs)):
            _insert(connection, side, shift[:, None] + rng.normal(0, noise, (batch, ROWS, repeats)))
        sessions = [f"{side}{draw}" for side in "ab" for draw in range(batch)]
        derive_and_diagnose(connection, sessions, (), wanted=["compare"])
        answers += connection.execute(query, [batch]).fetchall()
        connection.rollback()
    return answers


def _insert(connection: duckdb.DuckDBPyConnection, side: str, logs: Array) -> None:
    """Sessions with a case for each row; `logs` is ln(throughput) by draw, row and repeat."""
    draw, row, repeat = (index.ravel() for index in np.indices(logs.shape))
    span_ns = np.rint(1e9 * np.exp(-logs.ravel())).astype(np.int64)
    made_up = pl.DataFrame({"draw": draw, "row": row, "repeat": repeat, "span_ns": span_ns}).to_arrow()
    connection.register("made_up", made_up)
    key = f"'{side}' || draw AS session_id, 'c' || row || '.r' || repeat AS run_id, 0 AS attempt"
    connection.execute(f"""
        INSERT INTO runs BY NAME
        SELECT {key}, 'c' || row AS case_name, repeat, 'w' AS workload, 'ddp' AS strategy, 'ok' AS status,
            'strong' AS scaling_mode, 'ranks' AS axis, 2 AS workers, 2 AS world_size, 1 AS nodes, 2 AS ranks_per_node,
            1 AS threads, false AS oversubscribed, 64 AS examples_per_step
        FROM made_up
    """)
    connection.execute(
        f"INSERT INTO run_stats BY NAME SELECT {key}, 10 AS measured_steps, span_ns FROM made_up"
    )


def lines(planned: Sequence[int], draws: int, seed: int) -> Iterator[str]:
    """The table, line by line."""
    yield f"| the candidate is | share of comparisons | {' | '.join(f'{count} repeats' for count in planned)} |"
    yield f"| --- | --- | {' | '.join('---:' for _ in planned)} |"
    for number, change in enumerate(CHANGES):
        columns = [
            shares(change, count, draws, np.random.default_rng([seed, number, count])) for count in planned
        ]
        for (asked, _), *found in zip(change.asked, *columns, strict=True):
            yield f"| {change.name} | {asked} | {' | '.join(f'{100 * share:.1f} %' for share in found)} |"
    calibrated = [seen(count, draws, np.random.default_rng([seed, len(CHANGES), count])) for count in planned]
    cells = (f"{100 * change:.1f} %: {100 * share:.0f} %" for change, share in calibrated)
    yield f"| 1 of 12 rows slower by what inconclusive rows would have seen | size: found | {' | '.join(cells)} |"
