"""A table of coverage.py: how often `history_changes` has a false change, and how often it finds a real one.

A series is twenty sessions of one suite. ln(throughput) of a run varies by 1 %, that of a session by 0.5 %. Made-up
runs go into a database with the project's own tables, and a load's own code derives the changes from them. The
table has the share of series with a false regression, of a case or of all together; and that of planted losses that
are found in their session / in their session if none of its runs is odd / within three sessions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa

from analysis.database import schema
from analysis.levels.change_rows import find_changes
from analysis.loading.derive import derive_and_diagnose

SESSIONS = 20
REPEATS = (3, 5)
WITHIN, BETWEEN = 0.01, 0.005
SLOWER_RUN = 1.5
"""Time of a slow run ÷ that of another."""


@dataclass(frozen=True, kw_only=True)
class Truth:
    """A process that makes the runs of a series."""

    name: str
    repeats: int
    cases: int = 12
    slow: float = 0.0
    """Probability that a run is slow."""
    of_first: float = BETWEEN
    """Standard deviation of the first case's sessions."""
    shared: float = 0.0
    """Standard deviation of what all cases of a session share."""
    loss: float = 0.0
    """Share of throughput that is lost from session `at` on."""
    at: int = SESSIONS + 1
    """1-based."""
    is_shared: bool = False
    """Whether all cases lose it, and not only the first."""
    judged_from: int = 1
    """First session whose false regressions count."""

    def logs(self, random: np.random.Generator, draws: int) -> np.ndarray:
        """ln(throughput) of (series, session, case, run)."""
        shape = (draws, SESSIONS, self.cases, 1)
        between = random.normal(0, BETWEEN, shape) + random.normal(0, self.shared, (draws, SESSIONS, 1, 1))
        if self.of_first != BETWEEN:
            between[:, :, 0] = random.normal(0, self.of_first, (draws, SESSIONS, 1))
        between[:, self.at - 1 :, slice(None) if self.is_shared else 0] += np.log(1 - self.loss)
        runs = (*shape[:3], self.repeats)
        slow = random.random(runs) < self.slow
        logs: np.ndarray = between + random.normal(0, WITHIN, runs) - np.log(SLOWER_RUN) * slow
        return logs


def truths(repeats: int) -> Iterator[Truth]:
    for slow in (0.0, 0.02, 0.05):
        name = f"{100 * slow:g} % of runs slow"
        yield Truth(name=name, repeats=repeats, slow=slow)
        for loss in (0.1, 0.05):
            lost = f"{name}, {100 * loss:g} % lost from session 8"
            yield Truth(name=lost, repeats=repeats, slow=slow, loss=loss, at=8)
    yield Truth(name="one case varies by 4 %, from session 6", repeats=repeats, of_first=0.04, judged_from=6)
    yield Truth(name="all cases vary together by 1 %", repeats=repeats, shared=0.01)
    yield Truth(name="all cases lose 3.1 % from session 8", repeats=repeats, loss=0.031, at=8, is_shared=True)
    for cases in (1, 5):
        for slow in (0.0, 0.05):
            name = f"{cases} case{'s' if cases > 1 else ''}, {100 * slow:g} % of runs slow"
            yield Truth(name=name, repeats=repeats, cases=cases, slow=slow)


RUN = """
    session_id, run_id, 0 AS attempt, suite, case_name, 'made' AS workload, 'ddp' AS strategy, 'none' AS scaling_mode,
    'ranks' AS axis, false AS oversubscribed, 1 AS nodes, 1 AS threads, 1 AS ranks_per_node, 1 AS workers,
    1 AS world_size, 'cuda' AS device_type, 'GPU' AS device_name, 'ok' AS status, repeat, repeat AS round,
    64 AS examples_per_step, '{"settings": "a"}'::JSON AS fingerprint, '{}'::JSON AS config
"""
SESSION = "session_id, suite, '2026-01-01'::TIMESTAMP + to_days(day::INTEGER) AS created_at, false AS quick"
STATS = "session_id, run_id, 0 AS attempt, 100 AS measured_steps, span_ns"
POINTS = """
    INSERT INTO history_points BY NAME
    SELECT
        session_medians.*, suite, false AS oversubscribed, 'cuda' AS device_type, 'GPU' AS device_name,
        [suite, 'false', 'measured', 'cuda', case_name] AS line_facts, ['a', 'GPU', '1'] AS experiment_facts
    FROM session_medians
    JOIN sessions USING (session_id)
"""
FOUND = """
    WITH odd AS (SELECT DISTINCT suite, session_order FROM history_points JOIN sessions USING (session_id, suite)
        JOIN (SELECT session_id, row_number() OVER (PARTITION BY suite ORDER BY created_at) AS session_order
              FROM sessions) AS orders USING (session_id)
        WHERE odd_runs > 0 AND case_name = '00')
    SELECT
        suite,
        coalesce(bool_or(NOT is_planted AND session_order >= $judged_from), false) AS is_false,
        coalesce(bool_or(is_planted AND session_order = $at), false) AS at_once,
        coalesce(bool_or(is_planted AND session_order BETWEEN $at AND $at + 2), false) AS within_three,
        bool_or(suite IN (SELECT suite FROM odd WHERE session_order = $at)) AS is_odd
    FROM (SELECT DISTINCT suite FROM sessions) AS suites
    LEFT JOIN (
        SELECT
            *, session_order >= $at AND coalesce(case_name = '00', false) <> $is_shared
                AND (case_name IS NULL) = $is_shared AS is_planted
        FROM history_changes
        WHERE direction = 'slower'
    ) AS changes USING (suite)
    GROUP BY suite
"""


def shares(truth: Truth, draws: int, random: np.random.Generator) -> str:
    """A cell."""
    with duckdb.connect() as connection:
        schema.create(connection)
        _insert(connection, truth.logs(random, draws))
        asked = {"judged_from": truth.judged_from, "at": truth.at, "is_shared": truth.is_shared}
        found = np.array([row[1:] for row in connection.execute(FOUND, asked).fetchall()], bool)
    false, at_once, within_three, is_odd = found.T
    planted = (at_once, at_once[~is_odd], within_three)
    shown = f"; {' / '.join(f'{100 * found.mean():.1f}' for found in planted)} %" if truth.loss else ""
    return f"{100 * false.mean():.1f} %{shown}"


def _insert(connection: duckdb.DuckDBPyConnection, logs: np.ndarray) -> None:
    suite, day, case, repeat = (index.ravel() for index in np.indices(logs.shape))
    session_id = np.char.add(np.char.add(suite.astype(str), "-"), day.astype(str))
    case_name = np.char.zfill(case.astype(str), 2)
    rows = {
        "suite": suite.astype(str),
        "day": day,
        "session_id": session_id,
        "case_name": case_name,
        "repeat": repeat,
        "run_id": np.char.add(np.char.add(case_name, ".r"), repeat.astype(str)),
        "span_ns": np.rint(1e9 * np.exp(-logs.ravel())).astype(np.int64),
    }
    connection.register("made_up", pa.table(rows))
    for table, columns in {"sessions": SESSION, "runs": RUN, "run_stats": STATS}.items():
        connection.execute(f"INSERT INTO {table} BY NAME SELECT DISTINCT {columns} FROM made_up")
    derive_and_diagnose(connection, np.unique(session_id).tolist(), (), wanted=["session_medians"])
    connection.execute(POINTS)
    find_changes(connection)


def lines(planned: Sequence[int], draws: int, seed: int) -> Iterator[str]:
    """The table, line by line."""
    columns = [repeats for repeats in REPEATS if repeats in planned]
    yield f"| twenty sessions | {' | '.join(f'{repeats} repeats' for repeats in columns)} |"
    yield "| --- |" + " --- |" * len(columns)
    rows = list(zip(*(truths(repeats) for repeats in REPEATS), strict=True))
    for number, row in enumerate(rows):
        cells = [
            shares(truth, draws, np.random.default_rng([seed, len(rows) * place + number]))
            for place, truth in enumerate(row)
            if truth.repeats in columns
        ]
        yield f"| {row[0].name} | {' | '.join(cells)} |"
