"""How often 95 % intervals contain the truth, and verdicts and advice are right; the data are made up, so it is known.

    python benchmarks/coverage.py [--only ratios] [--draws 2000] [--repeats 3 5 10] [--seed 1] [--speedruns FILE]

Made-up runs go into a database with the project's own tables, and its own views give the figures. Prints tables in
Markdown, which docs/methodology shows; that of `ratios` has the figures of the method before next to it. Other tables
are in files of their own, coverage_*.py. The truth is that of infinitely many rounds: the median ratio; for steps the
median over all steps of all runs. All tables together take more than an hour.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from analysis.database import schema
from analysis.loading.derive import derive_and_diagnose
from bench.records.run_spec import REPEATS_BEFORE_STOP
from bench.records.t_interval import half_width_of_stopped

Array = np.ndarray[Any, np.dtype[Any]]
SIZES = (1, 2, 4, 8)
LARGEST = len(SIZES) - 1
STEPS = (20, 100, 200, 400)
STEP_NS = 100_000_000
MOST = 20
"""Most rounds of a session if rounds are added until its figures are known well enough."""
BORDERS = np.log([0.50, 0.75, 0.90, 1.05])
"""Between verdicts on ln(efficiency)."""
NOISE = 0.01
SLOWER = np.log([1.15, 1.3, 1.5])
"""ln(time) that a slow run takes more."""


@cache
def _database() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    schema.create(connection)
    return connection


@contextmanager
def empty_database() -> Iterator[duckdb.DuckDBPyConnection]:
    """A database with all tables and no rows. It is made once, and the end of the block undoes its changes."""
    connection = _database()
    connection.begin()
    try:
        yield connection
    finally:
        connection.rollback()


Scenario = Callable[[np.random.Generator, int, int], Array]
"""Generator, sessions and rounds -> ln(time ÷ ideal time) of every run: sessions × rounds × SIZES."""


def _shape(draws: int, rounds: int) -> tuple[int, int, int]:
    return draws, rounds, len(SIZES)


def normal(*deviations: float) -> Scenario:
    """Log-normal noise, of all sizes or of each."""
    return lambda rng, draws, rounds: rng.normal(0, np.array(deviations), _shape(draws, rounds))


def drift(total: float, noise: float) -> Scenario:
    """Growth of ln(time) from the session's first run to its last."""

    def drawn(rng: np.random.Generator, draws: int, rounds: int) -> Array:
        runs = orders(rng, draws, rounds) + len(SIZES) * np.arange(rounds)[:, None]
        return normal(noise)(rng, draws, rounds) + total * runs / (rounds * len(SIZES) - 1)

    return drawn


def autocorrelated(over: str, noise: float) -> Scenario:
    """A disturbance of 5 % whose correlation from one run, or round, to the next is 0.8."""

    def drawn(rng: np.random.Generator, draws: int, rounds: int) -> Array:
        count = rounds * len(SIZES) if over == "runs" else rounds
        level = rng.standard_normal((draws, count))
        for place in range(1, count):
            level[:, place] = 0.8 * level[:, place - 1] + 0.6 * level[:, place]
        if over == "runs":
            runs = orders(rng, draws, rounds) + len(SIZES) * np.arange(rounds)[:, None]
            level = np.take_along_axis(level, runs.reshape(draws, -1), axis=1).reshape(runs.shape)
        else:
            level = level[:, :, None]
        return normal(noise)(rng, draws, rounds) + 0.05 * level

    return drawn


def heavy(deviation: float) -> Scenario:
    """Student's t of three degrees of freedom."""
    return lambda rng, draws, rounds: deviation / 3**0.5 * rng.standard_t(3, _shape(draws, rounds))


def skewed(rng: np.random.Generator, draws: int, rounds: int) -> Array:
    """Disturbances that only add time."""
    times: Array = np.log1p(rng.lognormal(-3, 1, _shape(draws, rounds)))
    return times


def some_slow(shares: float | tuple[float, ...], slower: float) -> Scenario:
    """Each run is slow with a probability, of all sizes or of each; a negative `slower` is faster."""

    def drawn(rng: np.random.Generator, draws: int, rounds: int) -> Array:
        is_slow = rng.random(_shape(draws, rounds)) < np.array(shares)
        times: Array = normal(NOISE)(rng, draws, rounds) + slower * is_slow
        return times

    return drawn


def one_slow(slower: float) -> Scenario:
    """One run of each session, of any size."""

    def drawn(rng: np.random.Generator, draws: int, rounds: int) -> Array:
        times = normal(NOISE)(rng, draws, rounds)
        times[np.arange(draws), rng.integers(rounds, size=draws), rng.integers(len(SIZES), size=draws)] += (
            slower
        )
        return times

    return drawn


def cold_first_round(least_size: int) -> Scenario:
    """The first round is 10 % slower, at all sizes from a place in SIZES on."""

    def drawn(rng: np.random.Generator, draws: int, rounds: int) -> Array:
        times = normal(NOISE)(rng, draws, rounds)
        times[:, 0, least_size:] += 0.1
        return times

    return drawn


SCENARIOS: dict[str, Scenario] = {
    "noise of 1 %": normal(NOISE),
    "drift of 15 %": drift(0.15, NOISE),
    "drift of 15 %, noise of 0.3 %": drift(0.15, 0.003),
    "rounds differ by 5 %": lambda rng, draws, rounds: (
        normal(NOISE)(rng, draws, rounds) + rng.normal(0, 0.05, (draws, rounds, 1))
    ),
    "runs autocorrelated, 5 %": autocorrelated("runs", 0.003),
    "rounds autocorrelated, 5 %": autocorrelated("rounds", NOISE),
    "noise of 1, 2, 4, 8 %": normal(0.01, 0.02, 0.04, 0.08),
    "noise of 8 % at one rank": normal(0.08, 0.01, 0.01, 0.01),
    "heavy tails, 2 %": heavy(0.02),
    "heavy tails, 6 %": heavy(0.06),
    "noise of 5 %": normal(0.05),
    "skewed": skewed,
    "5 % of runs 1.5 times slower": some_slow(0.05, SLOWER[2]),
    "5 % of runs 1.15 times slower": some_slow(0.05, SLOWER[0]),
    "10 % of runs at 8 ranks 1.5 times slower": some_slow((0, 0, 0, 0.1), SLOWER[2]),
    "one run 5 times slower": one_slow(float(np.log(5))),
    "one run 1.3 times slower": one_slow(SLOWER[1]),
    "two speeds, 50 %, 1.3": some_slow(0.5, SLOWER[1]),
    "two speeds, 30 %, 1.3": some_slow(0.3, SLOWER[1]),
    "two speeds, 50 %, 1.15": some_slow(0.5, SLOWER[0]),
    "30 % of runs at 8 ranks 1.3 times slower": some_slow((0, 0, 0, 0.3), SLOWER[1]),
    "30 % of runs at one rank 1.3 times slower": some_slow((0.3, 0, 0, 0), SLOWER[1]),
    "30 % of runs at one rank 1.3 times faster": some_slow((0.3, 0, 0, 0), -SLOWER[1]),
    "cold first round": cold_first_round(0),
    "cold first round from two ranks on": cold_first_round(1),
}
BEYOND = {"47 % of runs at 8 ranks 1.5 times slower": some_slow((0, 0, 0, 0.47), SLOWER[2])}
"""More slow runs than the scenarios have; what holds there is not promised."""


def orders(rng: np.random.Generator, draws: int, rounds: int) -> Array:
    """Position of each size in each round, as a plan draws them: the second round is the first one backwards, and no
    size keeps its position in the first three."""
    order = np.broadcast_to(np.arange(len(SIZES)), _shape(draws, rounds))
    drawn = rng.permuted(order, axis=2)
    if rounds > 1:
        drawn[:, 1] = LARGEST - drawn[:, 0]
    while rounds > 2:
        kept = (drawn[:, :3] == drawn[:, :1]).all(axis=1).any(axis=1)
        if not kept.any():
            break
        drawn[kept, 2] = rng.permuted(order[kept, 2], axis=1)
    return drawn


def true_ratios(scenario: Scenario) -> Array:
    """ln(efficiency) of the median round at each size; scaling is perfect but for the noise."""
    times = scenario(np.random.default_rng(1), 1_000, 200).reshape(-1, len(SIZES))
    found = np.median(times[:, :1] - times, axis=0)
    return np.where(
        np.abs(found) < 0.002, 0, found
    )  # half of the runs slow at every size: no size is favoured


@dataclass(frozen=True, kw_only=True)
class Ratios:
    """Shares of a scenario's sessions, by their statements on speedups."""

    holds: float
    """Intervals that hold the truth, of those that are given, at 8 ranks."""
    given: float
    width: float
    """Median half-width at 8 ranks, as a factor."""
    single: float
    """Rows of all sizes with one verdict."""
    wrong: float
    """Rows of all sizes with one verdict that is not the true one."""


def ratios(scenario: Scenario, rounds: int, draws: int, rng: np.random.Generator) -> Ratios:
    truth = true_ratios(scenario)
    with empty_database() as connection:
        _insert_sessions(connection, scenario(rng, draws, rounds))
        connection.register("truth", pa.table({"workers": SIZES, "log_efficiency": truth}))
        row = connection.execute("""
            WITH judged AS (
                SELECT
                    *,
                    ln(efficiency_lo) <= log_efficiency AND log_efficiency <= ln(efficiency_hi) AS holds,
                    list_contains(['poor', 'acceptable', 'good', 'excellent', 'superlinear', 'retrograde'], verdict)
                        AS is_single,
                    verdict <> verdict_of(exp(log_efficiency)) AS is_wrong
                FROM scaling JOIN truth USING (workers)
                WHERE NOT is_baseline
            )
            SELECT
                avg(holds::INTEGER) FILTER (workers = 8),
                avg((efficiency_lo IS NOT NULL)::INTEGER),
                exp(median(ln(efficiency_hi / efficiency_lo) / 2) FILTER (workers = 8)),
                avg(is_single::INTEGER),
                avg((is_single AND is_wrong)::INTEGER)
            FROM judged
        """).fetchall()[0]
    holds, given, width, single, wrong = (np.nan if value is None else value for value in row)
    return Ratios(holds=holds, given=given, width=width, single=single, wrong=wrong)


def _insert_sessions(
    connection: duckdb.DuckDBPyConnection,
    times: Array,
    *,
    counts: Array | None = None,
    wanted: str = "scaling",
) -> None:
    for place, workers in enumerate(SIZES[: times.shape[2]]):
        insert_runs(connection, workers, times[:, :, place], "ddp", counts=counts)
    derive_and_diagnose(connection, [str(draw) for draw in range(len(times))], (), wanted=[wanted])


RUN = """
    'ok' AS status, 'strong' AS scaling_mode, 'ranks' AS axis, 64 AS examples_per_step, false AS oversubscribed,
    1 AS nodes, $workers AS ranks_per_node, $workers AS workers, $workers AS world_size, 1 AS threads,
    $case_name AS case_name, $until::DOUBLE AS until, $until_efficiency::DOUBLE AS until_efficiency
"""
KEY = "draw AS session_id, $case_name || '.' || $workers || '.' || repeat AS run_id, 0 AS attempt"


def insert_runs(
    connection: duckdb.DuckDBPyConnection,
    workers: int,
    noise: Array,
    case_name: str,
    *,
    counts: Array | None = None,
    until: float | None = None,
    until_efficiency: float | None = None,
) -> None:
    """Insert one session per draw, with a case of `counts` repeats, or all; scaling is perfect except for the noise."""
    kept = np.ones(noise.shape, bool) if counts is None else np.arange(noise.shape[1]) < counts[:, None]
    draw, repeat = np.nonzero(kept)
    span_ns = _rounded(100 * STEP_NS / workers * np.exp(noise[kept]))
    connection.register("made_up", pa.table({"draw": draw, "repeat": repeat, "span_ns": span_ns}))
    values = {"case_name": case_name, "workers": workers}
    connection.execute(
        f"INSERT INTO runs BY NAME SELECT {KEY}, repeat, repeat AS round, {RUN} FROM made_up",
        values | {"until": until, "until_efficiency": until_efficiency},
    )
    stats = f"INSERT INTO run_stats BY NAME SELECT {KEY}, 100 AS measured_steps, span_ns FROM made_up"
    connection.execute(stats, values)


def _rounded(ns: Array) -> Array:
    return np.rint(ns).astype(np.int64)


@dataclass(frozen=True, kw_only=True)
class Growing:
    """Sessions of one and two ranks that add rounds until an interval is narrow."""

    noise: float
    until: float | None = None
    until_efficiency: float | None = None

    @property
    def name(self) -> str:
        key = "until" if self.until is not None else "until_efficiency"
        wanted = 100 * (self.until or self.until_efficiency or 0)
        return f"noise of {100 * self.noise:.0f} %, `{key}: {wanted:g}%`, {MOST} at most"


GROWING = (
    Growing(noise=0.01, until=0.01),
    Growing(noise=0.01, until=0.005),
    Growing(noise=0.01, until_efficiency=0.01),
    Growing(noise=0.02, until_efficiency=0.03),
)


def growing(sessions: Growing, draws: int, rng: np.random.Generator) -> tuple[float, float]:
    """The share of intervals that hold the truth, for throughput and for speedup."""
    noise = rng.normal(0, sessions.noise, (2, draws, MOST))
    counts = np.array([_rounds(rows, sessions) for rows in np.stack(list(noise), axis=1)])
    with empty_database() as connection:
        for workers, drawn in zip((1, 2), noise, strict=True):
            insert_runs(
                connection, workers, drawn, "ddp", counts=counts,
                until=sessions.until, until_efficiency=sessions.until_efficiency,
            )  # fmt: skip
        derive_and_diagnose(connection, [str(draw) for draw in range(draws)], (), wanted=["scaling"])
        exact = 64 * 100 / (100 * STEP_NS / 1e9)
        found = connection.execute(
            """
            SELECT
                avg((throughput_lo <= $exact * workers AND $exact * workers <= throughput_hi)::INTEGER),
                avg((speedup_lo <= 2 AND 2 <= speedup_hi)::INTEGER) FILTER (workers = 2)
            FROM scaling
            """,
            {"exact": exact},
        ).fetchall()
    throughput, speedup = found[0]
    return float(throughput), float(speedup)


def _rounds(noise: Array, sessions: Growing) -> int:
    """Rounds of a session. `noise`: a row for one worker and one for two, as long as the session may get."""
    asked = [(row, sessions.until) for row in noise] + [(noise[1] - noise[0], sessions.until_efficiency)]
    wanted = [(list(logs), until) for logs, until in asked if until is not None]
    count = REPEATS_BEFORE_STOP
    while count < MOST and any((half_width_of_stopped(logs[:count]) or 0) > until for logs, until in wanted):
        count += 1
    return count


def odd_runs(scenario: Scenario, rounds: int, draws: int, rng: np.random.Generator) -> float:
    """The share of sessions with an odd run."""
    with empty_database() as connection:
        _insert_sessions(connection, scenario(rng, draws, rounds), wanted="odd_runs")
        found = connection.execute("SELECT count(DISTINCT session_id) FROM odd_runs").fetchall()
    return float(found[0][0]) / draws


ODD = {
    **{f"noise of {100 * noise:.0f} %": normal(noise) for noise in (0.01, 0.05, 0.1, 0.2, 0.4)},
    "noise of 1, 2, 4, 8 %": SCENARIOS["noise of 1, 2, 4, 8 %"],
    "one run 1.3 times slower": SCENARIOS["one run 1.3 times slower"],
    "one run 5 times slower": SCENARIOS["one run 5 times slower"],
}


@dataclass(frozen=True, kw_only=True)
class Advised:
    """The advice to sessions whose efficiency at 8 ranks has more than one verdict."""

    open: float
    """Share of all sessions."""
    told: float
    """Share of the open ones that are told a number of rounds."""
    median: float
    decided: float
    """Share of those told one that then have one verdict."""
    by_border: float
    """Share of those told none that 20 more rounds decide."""


def advised(noise: float, rounds: int, draws: int, rng: np.random.Generator, odd: float = 0.0) -> Advised:
    """Sessions whose efficiencies are anything from 0.55 to 1, and what becomes of them if they follow the advice.
    `odd`: ln(slowdown) of one of the first runs at 8 ranks."""
    efficiency = np.log(rng.uniform(0.55, 1, (draws, 1, len(SIZES))))
    efficiency[:, :, 0] = 0
    times = normal(noise)(rng, draws, rounds + 20) - efficiency
    times[:, 1, -1] += odd
    query = """
        SELECT session_id::BIGINT, repeats_needed FROM scaling
        WHERE workers = 8 AND verdict_lo <> verdict_hi
    """
    with empty_database() as connection:
        _insert_sessions(connection, times[:, :rounds])
        rows = connection.execute(query).fetchall()
    open_ones = [draw for draw, _ in rows]
    counts = np.array([rounds + (more or 20) for _, more in rows])
    with empty_database() as connection:
        _insert_sessions(connection, times[open_ones], counts=counts)
        open_after = {open_ones[place] for place, _ in connection.execute(query).fetchall()}
    told = [(draw, more) for draw, more in rows if more is not None]
    border = [draw for draw, more in rows if more is None]
    return Advised(
        open=len(rows) / draws,
        told=len(told) / max(1, len(rows)),
        median=float(np.median([more for _, more in told])) if told else np.nan,
        decided=float(np.mean([draw not in open_after for draw, _ in told])) if told else np.nan,
        by_border=float(np.mean([draw not in open_after for draw in border])) if border else np.nan,
    )


@dataclass(frozen=True, kw_only=True)
class Rounding:
    """Trainings whose times a file rounds; those on 8 ranks take an eighth, or up to a third more."""

    seconds: float
    rounded_to_s: float
    noise: float = 0.003

    @property
    def name(self) -> str:
        return f"{self.seconds:g} s to {self.rounded_to_s:g} s, noise of {100 * self.noise:g} %"


ROUNDINGS = (
    Rounding(seconds=10, rounded_to_s=1),
    Rounding(seconds=10, rounded_to_s=0.1),
    Rounding(seconds=95, rounded_to_s=1),
    Rounding(seconds=95, rounded_to_s=1, noise=0.02),
    Rounding(seconds=362, rounded_to_s=1),
    Rounding(seconds=3600, rounded_to_s=1),
)


def rounded(
    times: Rounding, repeats: int, draws: int, rng: np.random.Generator
) -> tuple[float | None, float]:
    """The share of the given intervals that holds the truth, and the share that is given."""
    lost = rng.uniform(0.02, 0.3, draws)
    base = times.seconds * np.exp(rng.uniform(-0.1, 0.1, draws))
    with empty_database() as connection:
        for workers, of_size in ((1, base), (8, base / 8 * np.exp(lost))):
            noise = rng.normal(0, times.noise, (draws, repeats))
            seconds = of_size[:, None] * np.exp(noise)
            seconds = np.maximum(1, np.rint(seconds / times.rounded_to_s)) * times.rounded_to_s
            draw, repeat = (index.ravel() for index in np.indices(noise.shape))
            made_up = pa.table({"draw": draw, "repeat": repeat, "seconds": seconds.ravel()})
            connection.register("made_up", made_up)
            columns = (
                f"{KEY}, repeat, repeat AS round, {RUN}, seconds AS whole_run_s, 64 AS whole_run_examples"
            )
            connection.execute(
                f"INSERT INTO runs BY NAME SELECT {columns} FROM made_up",
                {"case_name": "ddp", "workers": workers, "until": None, "until_efficiency": None},
            )
        derive_and_diagnose(connection, [str(draw) for draw in range(draws)], (), wanted=["scaling"])
        rows = connection.execute(
            "SELECT session_id::BIGINT, speedup_lo, speedup_hi FROM scaling WHERE workers = 8"
        ).fetchall()
    given = [(low, 8 * np.exp(-lost[draw]), high) for draw, low, high in rows if low is not None]
    holds = float(np.mean([low <= true <= high for low, true, high in given])) if given else None
    return holds, len(given) / draws


@dataclass(frozen=True, kw_only=True)
class Steps:
    """A process that makes step times."""

    name: str
    correlation: float = 0.0
    """Correlation of a step's ln(time) with that of the previous step."""
    between: float = 0.0
    """Standard deviation of ln(time) between runs; it shifts all steps of a run alike."""
    drift: float = 0.0
    """Change of ln(time) from the first step of a run to its last."""


PROCESSES = (
    Steps(name="independent steps"),
    Steps(name="correlation 0.5 with the step before", correlation=0.5),
    Steps(name="correlation 0.9 with the step before", correlation=0.9),
    Steps(name="independent steps that become 10 % slower during the run", drift=0.1),
    Steps(name="independent steps, runs that differ by 1 %", between=0.01),
)


def over_steps(process: Steps, draws: int, rng: np.random.Generator) -> list[tuple[float | None, float]]:
    """For every number of steps: the share of the median step's intervals that contain the truth, and of runs that have
    no interval. Steps vary by 2 %."""
    with empty_database() as connection:
        for steps in STEPS:
            _insert_steps(connection, process, steps, draws, rng)
        connection.execute(f"CREATE TEMP TABLE found AS {schema.text('run_stats')}")
        return connection.execute(
            "SELECT avg((step_ns_median_lo <= $1 AND $1 <= step_ns_median_hi)::INTEGER), "
            "avg((step_ns_median_lo IS NULL)::INTEGER) FROM found "
            "GROUP BY measured_steps ORDER BY measured_steps", [STEP_NS],
        ).fetchall()  # fmt: skip


def _insert_steps(
    connection: duckdb.DuckDBPyConnection, process: Steps, steps: int, draws: int, rng: np.random.Generator
) -> None:
    noise = rng.normal(0, 0.02, (draws, steps))
    for step in range(1, steps):
        fresh = (1 - process.correlation**2) ** 0.5 * noise[:, step]
        noise[:, step] = process.correlation * noise[:, step - 1] + fresh
    noise += rng.normal(0, process.between, (draws, 1)) + process.drift * np.linspace(-0.5, 0.5, steps)
    runs, places = (index.ravel() for index in np.indices(noise.shape))
    step_ns = _rounded(STEP_NS * np.exp(noise.ravel()))
    connection.register("made_up", pa.table({"run": runs, "step": places, "step_ns": step_ns}))
    key = f"'made up' AS session_id, '{steps}.' || run AS run_id, 0 AS attempt"
    columns = f"{key}, step, 'measured' AS kind, step_ns, 0 AS nonfinite_losses"
    connection.execute(f"INSERT INTO step_stats BY NAME SELECT {columns} FROM made_up")
    columns = f"{key}, 0 AS rank, {steps} AS measured_steps"
    connection.execute(f"INSERT INTO run_rank_stats BY NAME SELECT DISTINCT {columns} FROM made_up")


BEFORE: dict[str, tuple[tuple[float, float, float], ...]] = {
    "noise of 1 %": ((95.5, 83, 0.0), (95.3, 100, 0.0), (94.2, 100, 0.0)),
    "drift of 15 %": ((99.0, 26, 0.0), (95.8, 98, 0.0), (94.3, 100, 0.0)),
    "drift of 15 %, noise of 0.3 %": ((100.0, 30, 0.0), (99.8, 100, 0.0), (96.8, 100, 0.0)),
    "rounds differ by 5 %": ((94.5, 83, 0.0), (94.8, 100, 0.0), (96.7, 100, 0.0)),
    "runs autocorrelated, 5 %": ((95.5, 25, 0.0), (94.7, 60, 0.0), (96.2, 94, 0.0)),
    "rounds autocorrelated, 5 %": ((94.3, 84, 0.0), (94.3, 100, 0.0), (94.0, 100, 0.0)),
    "noise of 1, 2, 4, 8 %": ((93.2, 24, 0.1), (94.7, 53, 0.0), (95.8, 76, 0.0)),
    "noise of 8 % at one rank": ((93.3, 6, 0.3), (94.2, 11, 0.1), (95.8, 37, 0.0)),
    "heavy tails, 2 %": ((96.7, 55, 0.0), (98.2, 88, 0.0), (94.7, 98, 0.0)),
    "heavy tails, 6 %": ((95.8, 10, 0.2), (94.8, 18, 0.1), (95.0, 46, 0.0)),
    "noise of 5 %": ((96.0, 7, 0.2), (94.7, 15, 0.1), (95.5, 47, 0.0)),
    "skewed": ((96.2, 10, 0.3), (96.2, 19, 0.0), (94.8, 34, 0.0)),
    "5 % of runs 1.5 times slower": ((92.8, 80, 0.1), (93.8, 99, 0.0), (95.7, 100, 0.0)),
    "5 % of runs 1.15 times slower": ((95.0, 64, 0.0), (97.7, 62, 0.1), (97.5, 85, 0.0)),
    "10 % of runs at 8 ranks 1.5 times slower": ((93.5, 82, 0.0), (95.7, 99, 0.0), (95.5, 100, 0.0)),
    "one run 5 times slower": ((94.5, 78, 0.0), (93.8, 100, 0.0), (95.3, 100, 0.0)),
    "one run 1.3 times slower": ((93.7, 77, 0.0), (94.5, 100, 0.0), (93.8, 100, 0.0)),
    "two speeds, 50 %, 1.3": ((71.5, 34, 12.8), (77.3, 28, 5.4), (84.0, 17, 0.4)),
    "two speeds, 30 %, 1.3": ((85.7, 44, 5.2), (81.2, 54, 1.8), (63.5, 46, 0.0)),
    "two speeds, 50 %, 1.15": ((93.3, 14, 3.7), (97.0, 5, 0.3), (96.5, 15, 0.1)),
    "30 % of runs at 8 ranks 1.3 times slower": ((90.3, 79, 0.4), (88.8, 96, 0.0), (82.0, 94, 0.0)),
    "30 % of runs at one rank 1.3 times slower": ((89.7, 60, 2.0), (83.8, 92, 2.0), (64.9, 86, 0.2)),
    "30 % of runs at one rank 1.3 times faster": ((73.7, 37, 7.8), (50.8, 43, 24.3), (87.4, 20, 4.5)),
    "cold first round": ((95.7, 84, 0.0), (94.3, 100, 0.0), (94.5, 100, 0.0)),
    "cold first round from two ranks on": ((100.0, 0, 0.0), (100.0, 84, 0.0), (100.0, 100, 0.0)),
}
"""Scenario -> shares of intervals that hold, of single verdicts and of wrong ones, in %, at 3, 5 and 10 rounds, of the
method before, which left slow runs out by a test: 600 draws of this program with the SQL of commit 36327b9c, whose
method is that of 220b5cb7."""
BEFORE_AT = (3, 5, 10)


def _before(scenario: str, rounds: int) -> Array | None:
    if rounds not in BEFORE_AT or scenario not in BEFORE:
        return None
    return np.array(BEFORE[scenario][BEFORE_AT.index(rounds)]) / 100


def _of_ratios(asked: argparse.Namespace) -> Iterator[str]:
    """Each scenario, and then what all of them have in common."""
    found: dict[int, list[Array]] = {rounds: [] for rounds in asked.repeats}
    before: dict[int, list[Array]] = {rounds: [] for rounds in asked.repeats}
    columns = ["holds, ×/÷", "one verdict, wrong", "before: holds, wrong"]
    yield from _head(
        "runs of a session", [f"{rounds}: {column}" for rounds in asked.repeats for column in columns]
    )
    for number, (name, scenario) in enumerate((SCENARIOS | BEYOND).items()):
        cells = []
        for rounds in asked.repeats:
            one = ratios(scenario, rounds, asked.draws, _rng(asked, number, rounds))
            earlier = _before(name, rounds)
            found[rounds] += [np.array([one.holds, one.single, one.wrong])] if name in SCENARIOS else []
            before[rounds] += [] if earlier is None else [earlier]
            cells += [
                f"{100 * one.holds:.1f} %, {one.width:.3f}",
                f"{100 * one.single:.0f} %, {100 * one.wrong:.1f} %",
                "" if earlier is None else f"{100 * earlier[0]:.1f} %, {100 * earlier[2]:.1f} %",
            ]
        yield _line(name, cells)
    yield ""
    yield from _head(
        f"{len(SCENARIOS)} scenarios",
        [f"{rounds} rounds{what}" for rounds in asked.repeats for what in ("", ", before")],
    )
    summaries: dict[str, Callable[[Array], float]] = {
        "intervals that hold, worst": lambda rows: rows[:, 0].min(),
        "one verdict, mean": lambda rows: rows[:, 1].mean(),
        "one wrong verdict, mean": lambda rows: rows[:, 2].mean(),
        "one wrong verdict, worst": lambda rows: rows[:, 2].max(),
    }
    for name, summary in summaries.items():
        every = [rows for rounds in asked.repeats for rows in (found[rounds], before[rounds])]
        yield _line(name, [f"{100 * summary(np.array(rows)):.1f} %" if rows else "" for rows in every])


def _of_odd_runs(asked: argparse.Namespace) -> Iterator[str]:
    yield from _head(
        "sessions with a finding of an odd run", [f"{rounds} rounds" for rounds in asked.repeats]
    )
    for number, (name, scenario) in enumerate(ODD.items()):
        shares = [
            odd_runs(scenario, rounds, asked.draws, _rng(asked, 100, number, rounds))
            for rounds in asked.repeats
        ]
        yield _line(name, [f"{100 * share:.1f} %" for share in shares])


def _of_advice(asked: argparse.Namespace) -> Iterator[str]:
    columns = ["rounds", "open", "told a number, median", "then decided", "told none: 20 more decide"]
    yield from _head("advice on repeats: noise of a run", columns)
    for noise, odd in ((0.01, 0), (0.02, 0), (0.05, 0), (0.01, SLOWER[2]), (0.02, SLOWER[2])):
        for rounds in asked.repeats:
            found = advised(noise, rounds, asked.draws, _rng(asked, 200, int(100 * noise), rounds), odd)
            cells = [
                str(rounds), f"{100 * found.open:.0f} %", f"{100 * found.told:.0f} %, {found.median:.0f}",
                f"{100 * found.decided:.0f} %", f"{100 * found.by_border:.0f} %",
            ]  # fmt: skip
            name = f"{100 * noise:.0f} %{f', one run {np.exp(odd):.1f} times slower' if odd else ''}"
            yield _line(name, cells)


def _of_rounding(asked: argparse.Namespace) -> Iterator[str]:
    yield from _head("rounded times", [f"{repeats} repeats: holds, given" for repeats in asked.repeats])
    for number, times in enumerate(ROUNDINGS):
        cells = []
        for repeats in asked.repeats:
            holds, given = rounded(times, repeats, asked.draws, _rng(asked, 300, number, repeats))
            cells.append(
                ", ".join([*([] if holds is None else [f"{100 * holds:.1f} %"]), f"{100 * given:.0f} %"])
            )
        yield _line(times.name, cells)


def _of_growing(asked: argparse.Namespace) -> Iterator[str]:
    yield from _head("rounds are added", ["throughput", "speedup"])
    for number, sessions in enumerate(GROWING):
        shares = growing(sessions, asked.draws, _rng(asked, 400, number))
        yield _line(sessions.name, [f"{100 * share:.1f} %" for share in shares])


def _of_steps(asked: argparse.Namespace) -> Iterator[str]:
    yield from _head("steps of a run", [f"{steps} steps" for steps in STEPS])
    for number, process in enumerate(PROCESSES):
        found = over_steps(process, asked.draws, _rng(asked, 500, number))
        yield _line(process.name, [_cell(*shares) for shares in found])


def _of_plateau(asked: argparse.Namespace) -> Iterable[str]:
    import coverage_plateau

    return coverage_plateau.lines(asked.draws, asked.seed)


def _of_stragglers(asked: argparse.Namespace) -> Iterable[str]:
    import coverage_stragglers

    return coverage_stragglers.lines(asked.draws, asked.seed)


def _of_target(asked: argparse.Namespace) -> Iterable[str]:
    import coverage_target

    return coverage_target.lines(asked.draws, asked.seed)


def _of_sessions(asked: argparse.Namespace) -> Iterable[str]:
    import coverage_sessions

    return coverage_sessions.lines(asked.draws, asked.seed)


def _of_comparison(asked: argparse.Namespace) -> Iterable[str]:
    import coverage_comparison

    return coverage_comparison.lines(asked.repeats, asked.draws, asked.seed)


def _of_history(asked: argparse.Namespace) -> Iterable[str]:
    import coverage_history

    return coverage_history.lines(asked.repeats, asked.draws, asked.seed)


def _of_laws(asked: argparse.Namespace) -> Iterable[str]:
    import coverage_laws

    return coverage_laws.lines(asked.draws)


@dataclass(frozen=True)
class Table:
    lines: Callable[[argparse.Namespace], Iterable[str]]
    draws: int = 2_000
    """Those of the documents, as is the seed."""
    seed: int = 20261121


TABLES = {
    "ratios": Table(_of_ratios),
    "odd_runs": Table(_of_odd_runs),
    "advice": Table(_of_advice),
    "rounding": Table(_of_rounding),
    "growing": Table(_of_growing),
    "steps": Table(_of_steps),
    "plateau": Table(_of_plateau, seed=0),
    "stragglers": Table(_of_stragglers, draws=4_000, seed=0),
    "target": Table(_of_target, draws=1_000, seed=20261126),
    "sessions": Table(_of_sessions, draws=20_000),
    "comparison": Table(_of_comparison, draws=1_000),
    "history": Table(_of_history, draws=200, seed=20261129),
    "laws": Table(_of_laws, draws=100),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--draws", type=int, help="of each table [default: those of the documents]")
    parser.add_argument("--repeats", type=int, nargs="+", default=[3, 5, 10])
    parser.add_argument("--seed", type=int, help="[default: those of the documents]")
    parser.add_argument("--only", choices=TABLES, nargs="+", help="these tables [default: all]")
    parser.add_argument(
        "--speedruns", type=Path, metavar="FILE", help="real trainings, for a table of their halves"
    )
    asked = parser.parse_args()
    for name in asked.only or ([] if asked.speedruns else TABLES):
        table = TABLES[name]
        draws, seed = asked.draws or table.draws, asked.seed or table.seed
        _print(table.lines(argparse.Namespace(draws=draws, seed=seed, repeats=asked.repeats)))
    if asked.speedruns:
        import coverage_speedruns

        _print(coverage_speedruns.lines(asked.speedruns, asked.seed or 0))


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        print(line, flush=True)
    print(flush=True)


def _rng(asked: argparse.Namespace, *numbers: int) -> np.random.Generator:
    return np.random.default_rng([asked.seed, *numbers])


def _cell(held: float | None, null: float) -> str:
    parts = [f"{100 * held:.1f} %" if held is not None else "", f"{100 * null:.0f} % null" if null else ""]
    return ", ".join(filter(None, parts))


def _head(first: str, columns: list[str]) -> list[str]:
    return [_line(first, columns), _line("---", ["---:"] * len(columns))]


def _line(first: str, cells: Iterable[str]) -> str:
    return f"| {first} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
