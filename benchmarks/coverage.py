"""How often 95 % intervals contain the truth, which is known because the data are made up.

    python benchmarks/coverage.py [--draws 2000] [--repeats 3 5 10] [--seed 20261121]

Made-up runs go into a database with the project's own tables, and its own views give the intervals. Prints five
tables in Markdown, which docs/methodology/intervals.md shows. The truth is the result of infinitely many repeats: for
throughput exp(E ln throughput), for steps the median over all steps of all runs.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from scipy.optimize import brentq
from scipy.special import exp1
from scipy.stats import lomax, norm
from scipy.stats import t as student

from analysis.database import schema
from analysis.loading.derive import derive_and_diagnose
from bench.records.run_spec import REPEATS_BEFORE_STOP
from bench.records.t_interval import half_width_of_stopped
from bench.records.vocabulary import RunOrder

Array = np.ndarray[Any, np.dtype[Any]]
STEPS = (20, 100, 200, 400)
STEP_NS = 100_000_000
MOST = 20
"""Most rounds of a session if rounds are added until its figures are known well enough."""


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


@dataclass(frozen=True, kw_only=True)
class Truth:
    """A distribution of ln(time) over repeats, at one worker and at two."""

    name: str
    noise: Callable[[np.random.Generator, tuple[int, ...], int], Array]
    """Generator, shape and workers -> ln(time / ideal time)."""
    mean: float = 0.0
    """Expectation of the noise."""
    until: float | None = None
    """Add rounds until the intervals of both throughputs are this narrow, as measure.until does."""
    until_efficiency: float | None = None
    """The same for the ratio of two workers to one."""


def normal(deviation: float) -> Callable[[np.random.Generator, tuple[int, ...], int], Array]:
    return lambda rng, shape, _workers: rng.normal(0, deviation, shape)


def exponential(scale: float) -> Callable[[np.random.Generator, tuple[int, ...], int], Array]:
    """Exponential noise: disturbances only add time."""
    return lambda rng, shape, _workers: np.log1p(rng.exponential(scale, shape))


def mean_of_exponential(scale: float) -> float:
    """E ln(1 + x) for an exponential x."""
    return float(np.exp(1 / scale) * exp1(1 / scale))


def pareto(rng: np.random.Generator, shape: tuple[int, ...], _workers: int) -> Array:
    """Rare and long disturbances, whose variance is infinite."""
    return np.log1p(0.02 * rng.pareto(1.5, shape))


def mean_of_pareto() -> float:
    return float(lomax(1.5).expect(lambda x: np.log1p(0.02 * x)))


def heavy(rng: np.random.Generator, shape: tuple[int, ...], _workers: int) -> Array:
    return 0.02 / 3**0.5 * rng.standard_t(3, shape)


def noisier_at_two(rng: np.random.Generator, shape: tuple[int, ...], workers: int) -> Array:
    return rng.normal(0, 0.01 if workers == 1 else 0.08, shape)


TRUTHS = (
    Truth(name="log-normal, 2 %", noise=normal(0.02)),
    Truth(name="log-normal, 1 % at one rank and 8 % at two", noise=noisier_at_two),
    Truth(name="heavy tails: t of 3 degrees of freedom, 2 %", noise=heavy),
    Truth(name="1 + exponential of 3 %", noise=exponential(0.03), mean=mean_of_exponential(0.03)),
    Truth(name="1 + exponential of 30 %", noise=exponential(0.3), mean=mean_of_exponential(0.3)),
    Truth(name="1 + 2 % of a Pareto of shape 1.5", noise=pareto, mean=mean_of_pareto()),
    Truth(name="log-normal, 1 %, `until: 1%`, 20 at most", noise=normal(0.01), until=0.01),
    Truth(name="log-normal, 1 %, `until: 0.5%`, 20 at most", noise=normal(0.01), until=0.005),
    Truth(
        name="log-normal, 1 %, `until_efficiency: 1%`, 20 at most", noise=normal(0.01), until_efficiency=0.01
    ),
    Truth(
        name="log-normal, 2 %, `until_efficiency: 3%`, 20 at most", noise=normal(0.02), until_efficiency=0.03
    ),
)


@dataclass(frozen=True, kw_only=True)
class Rounds:
    """Effects on the runs of a session with sizes 1, 2, 4, 8, besides 1 % of log-normal noise in each."""

    name: str
    between: float = 0.0
    """Standard deviation of ln(time) between rounds."""
    drift: float = 0.0
    """Growth of ln(time) from the session's first run to its last."""
    run_order: RunOrder = "random"


SESSIONS = (
    Rounds(name="no drift"),
    Rounds(name="rounds that differ by 5 %", between=0.05),
    Rounds(name="drift of 15 %, random order", drift=0.15),
    Rounds(name="drift of 15 %, fixed order", drift=0.15, run_order="fixed"),
)
WORLD_SIZES = (1, 2, 4, 8)
STEADY = Truth(name="", noise=normal(0))
"""A fixed number of repeats."""


def over_rounds(session: Rounds, planned: list[int], draws: int, rng: np.random.Generator) -> list[str]:
    """For every number of repeats: how often the speedup's interval contains the truth, within rounds and without (the
    same runs, as Welch's t sees them); the mean ratio of both half-widths; and the mean error of the speedup."""
    cells = []
    with empty_database() as connection:
        for repeats, is_paired in itertools.product(planned, (True, False)):
            # the same runs for both
            if is_paired:
                shape = (draws, repeats, len(WORLD_SIZES))
                noise = rng.normal(0, 0.01, shape) + rng.normal(0, session.between, (draws, repeats, 1))
                order = np.broadcast_to(np.arange(len(WORLD_SIZES)), shape)
                if session.run_order == "random":
                    order = _drawn_orders(order, rng)
                runs = order + len(WORLD_SIZES) * np.arange(repeats)[:, None]
                noise = noise + session.drift * runs / (repeats * len(WORLD_SIZES) - 1)
            name = f"{repeats:02}" + ("" if is_paired else " unpaired")
            for place, workers in enumerate(WORLD_SIZES):
                _insert_runs(connection, STEADY, workers, noise[:, :, place], name, in_rounds=is_paired)
        derive_and_diagnose(connection, [str(draw) for draw in range(draws)], (), wanted=["scaling"])
        query = """
            SELECT
                avg((speedup_lo <= workers AND workers <= speedup_hi)::INTEGER) AS held,
                avg(ln(speedup_hi / speedup)) AS half_width,
                avg(speedup / workers) - 1 AS error
            FROM scaling WHERE case_name = $1 AND workers > 1
        """
        for repeats in planned:
            held, width, error = connection.execute(query, [f"{repeats:02}"]).fetchall()[0]
            without, wide, _ = connection.execute(query, [f"{repeats:02} unpaired"]).fetchall()[0]
            cells.append(
                f"{100 * held:.1f} %, {100 * without:.1f} %, {width / wide:.2f}, {100 * error:+.2f} %"
            )
    return cells


@dataclass(frozen=True, kw_only=True)
class SlowRuns:
    """Sessions in which some runs are slow: sizes 1, 2, 4, 8, log-normal noise of a run."""

    name: str
    noises: Sequence[float] = (0.01, 0.01, 0.01, 0.01)
    """Standard deviation of ln(time) at each of WORLD_SIZES."""
    per_rank: float = 0.0
    """Probability that a rank makes a run slow."""
    per_run: float = 0.0
    """Probability that a run is slow, the same at all sizes."""
    slowdown: float = 1.5
    between: float = 0.0
    """Standard deviation of ln(time) between rounds."""

    def shares(self) -> Array:
        """Probability that a run of each size is slow."""
        return 1 - (1 - self.per_run) * (1 - self.per_rank) ** np.array(WORLD_SIZES)

    def typical(self) -> Array:
        """Median of ln(time / ideal time) at each size."""
        return np.array([self._median(*size) for size in zip(self.noises, self.shares(), strict=True)])

    def _median(self, noise: float, share: float) -> float:
        def below(x: float) -> float:
            ordinary, slow = norm.cdf(x / noise), norm.cdf((x - np.log(self.slowdown)) / noise)
            return float((1 - share) * ordinary + share * slow - 0.5)

        return float(brentq(below, -1, 1))

    def expected(self) -> Array:
        """ln(mean of time / ideal time) at each size."""
        return np.log1p((self.slowdown - 1) * self.shares()) + np.square(self.noises) / 2


DISTURBED = (
    SlowRuns(name="2 % per rank", per_rank=0.02),
    SlowRuns(name="2 % per rank, rounds that differ by 5 %", per_rank=0.02, between=0.05),
    SlowRuns(name="2 % per rank, noise of 3 %", per_rank=0.02, noises=(0.03,) * 4),
    SlowRuns(
        name="2 % per rank, noise of 1 %, but 8 % at 8 ranks", per_rank=0.02, noises=(0.01, 0.01, 0.01, 0.08)
    ),
    SlowRuns(name="4 % per rank", per_rank=0.04),
    SlowRuns(name="5 % of runs at every size", per_run=0.05),
    SlowRuns(name="no slow run"),
    SlowRuns(name="no slow run, noise of 1 %, but 8 % at 8 ranks", noises=(0.01, 0.01, 0.01, 0.08)),
    SlowRuns(name="no slow run, noise of 8 %", noises=(0.08,) * 4),
)


def disturbed(truth: SlowRuns, repeats: int, draws: int, rng: np.random.Generator) -> list[str]:
    """How often the typical interval of the speedup on 8 ranks holds the truth, and its median half-width; the same of
    the plain interval, of all runs; how often an expected figure is shown, and how often it is shown and holds."""
    noise = rng.normal(0, truth.noises, (draws, repeats, 4)) + rng.normal(
        0, truth.between, (draws, repeats, 1)
    )
    noise = noise + np.log(truth.slowdown) * (rng.random(noise.shape) < truth.shares())
    with empty_database() as connection:
        for place, workers in enumerate(WORLD_SIZES):
            _insert_runs(connection, STEADY, workers, noise[:, :, place], "ddp")
        derive_and_diagnose(connection, [str(draw) for draw in range(draws)], (), wanted=["scaling"])
        typical, expected = (
            float(8 * np.exp(of_size[0] - of_size[-1])) for of_size in (truth.typical(), truth.expected())
        )
        query = """
            SELECT
                avg(coalesce($1 BETWEEN speedup_lo AND speedup_hi, false)::INTEGER),
                median(ln(speedup_hi / speedup)),
                avg((expected_speedup IS NOT NULL)::INTEGER),
                avg(coalesce($2 BETWEEN expected_speedup_lo AND expected_speedup_hi, false)::INTEGER),
                median(ln(expected_speedup_hi / expected_speedup_lo) / 2)
            FROM scaling WHERE workers = 8
        """
        row = connection.execute(query, [typical, expected]).fetchall()[0]
    holds, width, shown, right, wide = (np.nan if value is None else value for value in row)
    differences = noise[:, :, 0] - noise[:, :, 3] + np.log(8)
    half_widths = student.ppf(0.975, repeats - 1) * differences.std(axis=1, ddof=1) / repeats**0.5
    errors = [np.abs(differences.mean(axis=1) - np.log(true)) for true in (typical, expected)]
    plain = [float((error <= half_widths).mean()) for error in errors]
    return [
        f"{100 * holds:.1f} %, ×/÷ {np.exp(width):.3f}",
        f"{100 * plain[0]:.1f} %, ×/÷ {np.exp(np.median(half_widths)):.3f}",
        f"{100 * shown:.1f} %",
        f"{100 * right:.1f} %, ×/÷ {np.exp(wide):.3f}" if shown else "",
        f"{100 * plain[1]:.1f} %",
    ]


BORDERS = np.log([0.50, 0.75, 0.90, 1.05])
"""Between verdicts on ln(efficiency)."""


def decided(noise: float, rounds: int, draws: int, rng: np.random.Generator) -> list[str]:
    """Sessions of 1 and 2 ranks whose efficiency is anything from 0.55 to 1: how many are undecided; of these, how many
    have one verdict after repeats_needed more rounds, and its median. The same for the number that would be enough if
    all were as observed."""
    efficiency = rng.uniform(0.55, 1, draws)
    times = rng.normal(0, noise, (draws, rounds + 1000, 2)) - np.log(efficiency)[:, None, None] * [0, 1]
    with empty_database() as connection:
        for place, workers in enumerate((1, 2)):
            _insert_runs(connection, STEADY, workers, times[:, :rounds, place], "ddp")
        derive_and_diagnose(connection, [str(draw) for draw in range(draws)], (), wanted=["scaling"])
        rows = connection.execute(
            "SELECT session_id::BIGINT, repeats_needed FROM scaling WHERE workers = 2 AND verdict_lo <> verdict_hi"
        ).fetchall()
    of_session = times[:, :, 0] - times[:, :, 1]
    by_rule = (
        [(of_session[draw], more) for draw, more in rows],
        [(of_session[draw], _more_as_observed(of_session[draw, :rounds])) for draw, _ in rows],
    )
    cells = [f"{100 * len(rows) / draws:.0f} %"]
    for needed in by_rule:
        known = [(differences, more) for differences, more in needed if more is not None]
        shares = [_has_one_verdict(differences[: rounds + more]) for differences, more in known]
        cells.append(f"{100 * np.mean(shares):.0f} %, {np.median([more for _, more in known]):.0f}")
    return cells


def _has_one_verdict(differences: Array) -> bool:
    half_width = student.ppf(0.975, len(differences) - 1) * differences.std(ddof=1) / len(differences) ** 0.5
    ends = differences.mean() + half_width * np.array([-1, 1])
    return len(set(np.searchsorted(BORDERS, ends))) == 1


def _more_as_observed(differences: Array) -> int | None:
    more = np.arange(1, 1001)
    rounds = len(differences) + more
    half_widths = student.ppf(0.975, rounds - 1) * differences.std(ddof=1) / rounds**0.5
    enough = more[half_widths <= np.abs(differences.mean() - BORDERS).min()]
    return int(enough[0]) if len(enough) else None


def _drawn_orders(order: Array, rng: np.random.Generator) -> Array:
    """Orders of every draw's rounds as a plan draws them: no size keeps its position in the first three rounds."""
    drawn = rng.permuted(order, axis=2)
    while True:
        kept = (drawn[:, :3] == drawn[:, :1]).all(axis=1).any(axis=1)
        if not kept.any():
            return drawn
        drawn[kept] = rng.permuted(order[kept], axis=2)


def over_repeats(truth: Truth, planned: list[int], draws: int, rng: np.random.Generator) -> list[str]:
    """For every number of repeats: the share of intervals that contain the truth, for throughput and for speedup."""
    with empty_database() as connection:
        for repeats in planned:
            stops_early = truth.until is not None or truth.until_efficiency is not None
            shape = draws, MOST if stops_early else repeats
            noise = [truth.noise(rng, shape, workers) for workers in (1, 2)]
            counts = np.array([_rounds(rows, repeats, truth) for rows in np.stack(noise, axis=1)])
            for workers, drawn in zip((1, 2), noise, strict=True):
                _insert_runs(connection, truth, workers, drawn, f"{repeats:02}", counts=counts)
        derive_and_diagnose(connection, [str(draw) for draw in range(draws)], (), wanted=["scaling"])
        exact = 64 * 100 / (100 * STEP_NS / 1e9) * np.exp(-truth.mean)
        query = """
            SELECT
                avg((throughput_lo <= $exact * workers AND $exact * workers <= throughput_hi)::INTEGER) AS throughput,
                avg((speedup_lo <= 2 AND 2 <= speedup_hi)::INTEGER) FILTER (workers = 2) AS speedup
            FROM scaling GROUP BY case_name ORDER BY case_name
        """
        found = connection.execute(query, {"exact": float(exact)}).fetchall()
    return [f"{100 * share:.1f} %" for column in zip(*found, strict=True) for share in column]


RUN = """
    'ok' AS status, 'strong' AS scaling_mode, 'ranks' AS axis, 64 AS examples_per_step, false AS oversubscribed,
    1 AS nodes,
    $workers AS ranks_per_node, $workers AS workers, $workers AS world_size, 1 AS threads, $case_name AS case_name,
    $until::DOUBLE AS until, $until_efficiency::DOUBLE AS until_efficiency
"""
ROUND = "CASE WHEN $in_rounds THEN repeat END AS round"
KEY = "draw AS session_id, $case_name || '.' || $workers || '.' || repeat AS run_id, 0 AS attempt"


def _insert_runs(
    connection: duckdb.DuckDBPyConnection,
    truth: Truth,
    workers: int,
    noise: Array,
    case_name: str,
    *,
    counts: Array | None = None,
    in_rounds: bool = True,
) -> None:
    """Insert one session per draw, with a case of `counts` repeats, or all; scaling is perfect except for the noise."""
    kept = np.ones(noise.shape, bool) if counts is None else np.arange(noise.shape[1]) < counts[:, None]
    draw, repeat = np.nonzero(kept)
    span_ns = _rounded(100 * STEP_NS / workers * np.exp(noise[kept]))
    connection.register("made_up", pa.table({"draw": draw, "repeat": repeat, "span_ns": span_ns}))
    values = {"case_name": case_name, "workers": workers}
    run, of_run = (
        f"INSERT INTO runs BY NAME SELECT {KEY}, repeat, {ROUND}, {RUN} FROM made_up",
        {"in_rounds": in_rounds, "until": truth.until, "until_efficiency": truth.until_efficiency},
    )
    connection.execute(run, values | of_run)
    stats = f"INSERT INTO run_stats BY NAME SELECT {KEY}, 100 AS measured_steps, span_ns FROM made_up"
    connection.execute(stats, values)


def _rounds(noise: Array, repeats: int, truth: Truth) -> int:
    """Rounds of a session. `noise`: a row for one worker and one for two, as long as the session may get."""
    asked = [(row, truth.until) for row in noise] + [(noise[1] - noise[0], truth.until_efficiency)]
    wanted = [(list(logs), until) for logs, until in asked if until is not None]
    if not wanted:
        return repeats
    count = max(repeats, REPEATS_BEFORE_STOP)
    while count < MOST and any((half_width_of_stopped(logs[:count]) or 0) > until for logs, until in wanted):
        count += 1
    return count


def _rounded(ns: Array) -> Array:
    return np.rint(ns).astype(np.int64)


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--draws", type=int, default=2_000)
    parser.add_argument("--repeats", type=int, nargs="+", default=[3, 5, 10])
    parser.add_argument("--seed", type=int, default=20261121)
    asked = parser.parse_args()
    _line(
        "time of a repeat", [f"{of}, {count}" for of in ("throughput", "speedup") for count in asked.repeats]
    )
    _line("---", ["---:"] * 2 * len(asked.repeats))
    for number, truth in enumerate(TRUTHS):
        rng = np.random.default_rng([asked.seed, number])
        _line(truth.name, over_repeats(truth, asked.repeats, asked.draws, rng))
    print()
    _line("runs of a session", [f"{count} rounds" for count in asked.repeats])
    _line("---", ["---:"] * len(asked.repeats))
    for number, session in enumerate(SESSIONS):
        rng = np.random.default_rng([asked.seed, 200 + number])
        _line(session.name, over_rounds(session, asked.repeats, asked.draws, rng))
    print()
    columns = ["rounds", "typical", "of all runs", "expected is shown", "and holds", "of all runs"]
    _line("slow runs take 1.5 times as long", columns)
    _line("---", ["---:"] * len(columns))
    for (number, of_runs), repeats in itertools.product(enumerate(DISTURBED), asked.repeats):
        rng = np.random.default_rng([asked.seed, 400 + number, repeats])
        _line(of_runs.name, [str(repeats), *disturbed(of_runs, repeats, asked.draws, rng)])
    print()
    columns = [
        "rounds",
        "undecided",
        "decided by repeats_needed, median",
        "by the number as observed, median",
    ]
    _line("noise of a run", columns)
    _line("---", ["---:"] * len(columns))
    for noise, repeats in itertools.product((0.02, 0.05), asked.repeats):
        rng = np.random.default_rng([asked.seed, 500 + int(100 * noise), repeats])
        _line(f"{100 * noise:.0f} %", [str(repeats), *decided(noise, repeats, asked.draws, rng)])
    print()
    _line("steps of a run", [f"{steps} steps" for steps in STEPS])
    _line("---", ["---:"] * len(STEPS))
    for number, process in enumerate(PROCESSES):
        rng = np.random.default_rng([asked.seed, 100 + number])
        _line(process.name, [_cell(*shares) for shares in over_steps(process, asked.draws, rng)])


def _cell(held: float | None, null: float) -> str:
    parts = [f"{100 * held:.1f} %" if held is not None else "", f"{100 * null:.0f} % null" if null else ""]
    return ", ".join(filter(None, parts))


def _line(first: str, cells: list[str]) -> None:
    print(f"| {first} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
