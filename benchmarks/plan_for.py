"""How often a session that `bench suite --plan-for` plans reaches the asked width, and what it costs.

    python benchmarks/plan_for.py [--draws 200] [--rounds 3 5] [--seed 20261124]

Made-up pilots with known noise go into a database with the project's own tables; its table variance_components, and the
planner, plan each session. Then 100 sessions are drawn with each plan. Prints a table in Markdown, which
docs/methodology/intervals.md shows.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, cast

import duckdb
import numpy as np
import pyarrow as pa

from analysis.database import schema
from analysis.loading.derive import derive_and_diagnose
from bench.plan.plan_for import MOST_ROUNDS, PROBABILITY, Pilot, pilot_of
from bench.records.t_interval import t_quantile
from bench.suite.models import ResolvedSuite

Array = np.ndarray[Any, np.dtype[Any]]
WORLD_SIZES = (1, 2, 4, 8)
FUTURES = 100
"""Sessions drawn with each plan."""
STEP_NS = 50_000_000


@dataclass(frozen=True, kw_only=True)
class Truth:
    """A suite of the sizes 1, 2, 4 and 8, and its true noise."""

    name: str
    width: float
    """Asked half-width."""
    steps: int
    """Measured steps that the suite asks for."""
    start_s: float
    step_sd: float
    run_sd: tuple[float, float, float, float]
    """By size."""
    round_sd: float = 0.01
    correlation: float = 0.0
    """Correlation of a step with the previous one."""
    skewed: bool = False
    """Whether steps have an exponential distribution, shifted: disturbances only add time."""

    def run_variance(self, steps: int) -> Array:
        """Variance of ln(time) of a run of this number of steps, by size, without that of its round."""
        independent = (1 + self.correlation) / (1 - self.correlation)
        return np.array(self.run_sd) ** 2 + self.step_sd**2 * independent / steps


EVEN = (0.01, 0.01, 0.01, 0.01)
TRUTHS = (
    Truth(name="steps vary by 10 %, runs by 0.5 %; a start takes 20 s", width=0.03, steps=20, start_s=20,
          step_sd=0.1, run_sd=(0.005,) * 4),
    Truth(name="steps vary by 3 %, runs by 1 %; a start takes 2 s, runs are long", width=0.02, steps=400, start_s=2,
          step_sd=0.03, run_sd=EVEN),
    Truth(name="steps vary by 5 %, runs by 1 %; a start takes 3 s", width=0.02, steps=50, start_s=3,
          step_sd=0.05, run_sd=EVEN),
    Truth(name="the same, rounds differ by 5 %", width=0.02, steps=50, start_s=3,
          step_sd=0.05, run_sd=EVEN, round_sd=0.05),
    Truth(name="steps vary by 2 %, runs by 3 %; a start takes 0.3 s", width=0.05, steps=50, start_s=0.3,
          step_sd=0.02, run_sd=(0.03,) * 4),
    Truth(name="runs vary by 1 %, but by 8 % at 8 ranks", width=0.1, steps=50, start_s=3,
          step_sd=0.03, run_sd=(0.01, 0.01, 0.01, 0.08)),
    Truth(name="runs vary by 1 %, but by 8 % at 1 rank", width=0.1, steps=50, start_s=3,
          step_sd=0.03, run_sd=(0.08, 0.01, 0.01, 0.01)),
    Truth(name="steps vary by 5 %, correlation 0.8 with the step before", width=0.03, steps=200, start_s=3,
          step_sd=0.05, run_sd=(0.005,) * 4, correlation=0.8),
    Truth(name="steps take 1 + exponential of 30 %", width=0.05, steps=20, start_s=5,
          step_sd=0.3 / 1.3, run_sd=(0.005,) * 4, skewed=True),
)  # fmt: skip


def pilots(truth: Truth, rounds: int, draws: int, rng: np.random.Generator) -> list[Pilot]:
    """The pilots that `draws` sessions of the suite make."""
    with duckdb.connect() as connection:
        schema.create(connection)
        for place, workers in enumerate(WORLD_SIZES):
            _insert_runs(connection, truth, workers, place, rounds, draws, rng)
        connection.execute(f"INSERT INTO run_stats BY NAME {schema.text('run_stats')}")
        sessions = [str(draw) for draw in range(draws)]
        derive_and_diagnose(connection, sessions, (), wanted=["variance_components"])
        result = connection.execute(
            "SELECT *, 0.0 AS session_start_s FROM variance_components ORDER BY session_id, workers"
        )
        names = [column[0] for column in result.description or []]
        rows = [dict(zip(names, row, strict=True)) for row in result.fetchall()]
    measure = SimpleNamespace(steps=truth.steps, repeats=3, warmup=5, timeout_s=600.0)
    suite = cast(
        "ResolvedSuite",
        SimpleNamespace(cases=[SimpleNamespace(name="ddp", scaling="strong", measure=measure)]),
    )
    found = []
    for session_id, of_session in itertools.groupby(rows, key=lambda row: row["session_id"]):
        pilot = pilot_of(session_id, list(of_session), suite)
        assert pilot is not None
        found.append(pilot)
    return found


RUN = """
    draw::VARCHAR AS session_id, $workers || '.' || round AS run_id, 0 AS attempt, 'ok' AS status,
    'strong' AS scaling_mode,
    'ranks' AS axis, 'ddp' AS case_name, 64 AS examples_per_step, false AS oversubscribed, 1 AS nodes,
    $workers AS ranks_per_node, $workers AS workers, $workers AS world_size, 1 AS threads, round AS repeat, round
"""


def _insert_runs(
    connection: duckdb.DuckDBPyConnection,
    truth: Truth,
    workers: int,
    place: int,
    rounds: int,
    draws: int,
    rng: np.random.Generator,
) -> None:
    """Insert the runs of one size of all sessions, with every step."""
    shape = (draws, rounds, truth.steps)
    # the same in every size of a session
    of_round = np.random.default_rng([draws, rounds]).normal(0, truth.round_sd, (draws, rounds))
    noise = of_round + rng.normal(0, truth.run_sd[place], (draws, rounds))
    step_ns = np.rint(STEP_NS / workers * np.exp(noise)[..., None] * _steps(truth, shape, rng)).astype(
        np.int64
    )
    draw, number, step = (index.ravel() for index in np.indices(shape))
    connection.register(
        "made_up", pa.table({"draw": draw, "round": number, "step": step, "step_ns": step_ns.ravel()})
    )
    key = f"draw::VARCHAR AS session_id, '{workers}.' || round AS run_id, 0 AS attempt"
    elapsed = "sum(step_ns) / 1e9 + $start_s AS elapsed_s"
    values = {"workers": workers, "start_s": truth.start_s}
    connection.execute(
        f"INSERT INTO runs BY NAME SELECT {RUN}, {elapsed} FROM made_up GROUP BY draw, round", values
    )
    connection.execute(
        f"INSERT INTO step_stats BY NAME SELECT {key}, step, 'measured' AS kind, step_ns, 0 AS nonfinite_losses "
        "FROM made_up"
    )
    connection.execute(
        f"INSERT INTO run_rank_stats BY NAME SELECT {key}, 0 AS rank, {truth.steps} AS measured_steps, "
        "sum(step_ns) AS span_ns FROM made_up GROUP BY draw, round"
    )


def _steps(truth: Truth, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Times of steps ÷ their mean."""
    if truth.skewed:
        exponential: Array = (1 + rng.exponential(0.3, shape)) / 1.3
        return exponential
    noise = rng.standard_normal(shape)
    for step in range(1, shape[-1]):
        fresh = (1 - truth.correlation**2) ** 0.5 * noise[..., step]
        noise[..., step] = truth.correlation * noise[..., step - 1] + fresh
    relative: Array = np.maximum(1 + truth.step_sd * noise, 0.01)
    return relative


def with_the_truth(pilot: Pilot, truth: Truth) -> Pilot:
    """The pilot as if it had measured every variance exactly."""
    whole = truth.run_variance(truth.steps)
    part = truth.run_variance(1) - truth.run_variance(10**12)
    intervals = []
    for place, interval in enumerate(pilot.intervals, start=1):
        sides = tuple(replace(side, step_variance=float(part[0])) for side in interval.sides)
        variance = float(whole[0] + whole[place])
        intervals.append(replace(interval, variance=variance, df=None, sides=sides))
    return replace(pilot, intervals=tuple(intervals))


def reached(truth: Truth, steps: int, rounds: int, rng: np.random.Generator) -> float:
    """Share of sessions with these numbers in which every interval is as narrow as asked."""
    logs = rng.normal(0, np.sqrt(truth.run_variance(steps)), (FUTURES, rounds, len(WORLD_SIZES)))
    ratios = logs[:, :, 1:] - logs[:, :, :1]
    half = t_quantile(rounds - 1) * ratios.std(axis=1, ddof=1) / rounds**0.5
    return float((np.expm1(half) <= truth.width).all(axis=1).mean())


def best_of_all(pilot: Pilot, width: float) -> float:
    """Seconds of the cheapest plan, by trying every one."""
    return min(
        pilot.seconds(steps, rounds)
        for steps in pilot.step_counts()
        for rounds in range(2, MOST_ROUNDS + 1)
        if pilot.assurance(steps, rounds, width) >= PROBABILITY
    )


def row(truth: Truth, rounds: int, draws: int, seed: list[int]) -> list[str]:
    """The cells of one truth and number of rounds of the pilot."""
    rng = np.random.default_rng(seed)
    reach, plans, dearer, of_suite = [], [], [], []
    found = pilots(truth, rounds, draws, rng)
    exact = with_the_truth(found[0], truth).cheapest(truth.width)
    assert exact is not None
    for pilot in found:
        plan = pilot.cheapest(truth.width)
        if plan is None or plan.steps is None:
            continue
        plans.append((plan.rounds, plan.steps))
        reach.append(reached(truth, plan.steps, plan.rounds, rng))
        dearer.append(plan.seconds / pilot.seconds(exact.steps, exact.rounds))
        more = pilot.rounds_for(None, truth.width)
        of_suite.append(plan.seconds / (pilot.seconds(None, more) if more else np.inf))
    tried = found[0].cheapest(truth.width)
    against = "" if tried is None else f"{tried.seconds / best_of_all(found[0], truth.width):.3f}"
    typical = " x ".join(f"{statistics.median(column):.0f}" for column in zip(*plans, strict=True))
    return [
        f"{100 * truth.width:g} %",
        str(rounds),
        f"{100 * statistics.mean(reach):.0f} %",
        typical,
        f"{exact.rounds} x {exact.steps}",
        f"{statistics.median(dearer):.2f}",
        f"{100 * statistics.median(of_suite):.0f} %",
        against,
        f"{100 * (1 - len(plans) / len(found)):.0f} %",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--rounds", type=int, nargs="+", default=[3, 5])
    parser.add_argument("--seed", type=int, default=20261124)
    asked = parser.parse_args()
    plans = ["rounds x steps", "with known noise", "time ÷ that one's", "÷ more rounds only", "÷ best of all"]
    heads = ["width", "pilot", "reached", *plans, "no plan"]
    _line("suite", heads)
    _line("---", ["---:"] * len(heads))
    for (number, truth), rounds in itertools.product(enumerate(TRUTHS), asked.rounds):
        _line(truth.name, row(truth, rounds, asked.draws, [asked.seed, number, rounds]))


def _line(first: str, cells: list[str]) -> None:
    print(f"| {first} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
