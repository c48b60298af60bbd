"""How often intervals of the table target_efficiency contain the truth, for made-up trainings to a target.

    python benchmarks/target_coverage.py [--draws 2000] [--repeats 5 10 20] [--seed 20261126]

Rows of `target_runs` are made up for two sizes, and the project's own query gives the factors. Both sizes have the same
seeds, a machine whose speed drifts from round to round, start-up and validations. At the larger size, every repeat
misses the target by chance with the given probability. The truth is the result of infinitely many repeats without a
limit. Prints a table in Markdown, which docs/methodology/target.md shows.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from analysis.database import schema

Array = np.ndarray[Any, np.dtype[Any]]
WORKERS = (1, 4)
BATCHES = (64, 256)
EXAMPLES = (20_000, 34_000)
"""Examples that a typical run needs, at each size."""
RATE = (1_000, 3_600)
"""Examples/s of each size while it trains."""
DRIFT = 0.03
"""Standard deviation of what a round's runs have in common, in ln(examples/s)."""
NOISE = 0.02
"""Standard deviation of each run's own part."""
SETUP_S = 2.0
VALIDATION_S = 0.2
VALIDATIONS = 20
"""Validations of a typical run."""
_TRUTH_DRAWS = 400_000
FACTORS = ("throughput_factor", "examples_factor", "share_factor", "efficiency")


@dataclass(frozen=True, kw_only=True)
class Needs:
    """A distribution of ln(examples needed ÷ those of a typical run) over seeds."""

    name: str
    draw: Callable[[np.random.Generator, tuple[int, ...]], Array]
    on_grid: bool = False
    """Whether the examples are those of the next of the validations, as measured; else exact."""


NEEDS = (
    Needs(name="log-normal", draw=lambda rng, shape: rng.normal(0, 0.15, shape)),
    Needs(
        name="log-normal, at validations", draw=lambda rng, shape: rng.normal(0, 0.15, shape), on_grid=True
    ),
    Needs(name="skewed (gamma of shape 8)", draw=lambda rng, shape: np.log(rng.gamma(8, 1 / 8, shape))),
    Needs(name="heavy tails (t of 4)", draw=lambda rng, shape: 0.1 * rng.standard_t(4, shape)),
)


@dataclass(frozen=True, kw_only=True)
class Trainings:
    """Made-up trainings at one size, each [draws, repeats]."""

    examples: Array
    """To the target, or to the limit."""
    reached: Array
    since_last: Array
    """Share of the examples since the validation before."""
    throughput: Array
    seconds: Array


def trainings(needs: Needs, size: int, drift: Array, missing: float, rng: np.random.Generator) -> Trainings:
    """`drift`: [draws, repeats], of the rounds. `missing`: probability that a run misses the target."""
    wanted = needs.draw(rng, drift.shape)
    limit = (
        np.quantile(needs.draw(np.random.default_rng(0), (_TRUTH_DRAWS,)), 1 - missing) if missing else np.inf
    )
    examples = EXAMPLES[size] * np.exp(np.minimum(wanted, limit))
    grid = EXAMPLES[size] / VALIDATIONS
    since_last = np.zeros_like(examples)
    if needs.on_grid:
        examples = np.ceil(examples / grid) * grid
        since_last = grid / examples
    throughput = RATE[size] * np.exp(drift + rng.normal(0, NOISE, drift.shape))
    seconds = SETUP_S + examples / throughput + VALIDATION_S * np.ceil(examples / grid)
    return Trainings(
        examples=examples,
        reached=wanted <= limit,
        since_last=since_last,
        throughput=throughput,
        seconds=seconds,
    )


def truth(needs: Needs) -> dict[str, float]:
    """Factor -> its value over infinitely many repeats without a limit."""
    rng = np.random.default_rng(1)
    one, many = (trainings(needs, size, rng.normal(0, DRIFT, (1, _TRUTH_DRAWS)), 0, rng) for size in (0, 1))
    per_worker = WORKERS[0] / WORKERS[1]

    def log(values: Array) -> float:
        return float(np.log(values).mean())

    examples = log(one.examples) - log(many.examples)
    throughput = log(many.throughput) - log(one.throughput)
    seconds = log(one.seconds) - log(many.seconds)
    return {
        "throughput_factor": float(np.exp(throughput)) * per_worker,
        "examples_factor": float(np.exp(examples)),
        "share_factor": float(np.exp(seconds - examples - throughput)),
        "efficiency": float(np.exp(seconds)) * per_worker,
    }


def rows(size: int, made: Trainings) -> pa.Table:
    """Rows of `target_runs`, a session for each draw."""
    draws, repeats = made.examples.shape
    count = draws * repeats
    columns = {
        "session_id": [f"{draw:06d}" for draw in range(draws) for _ in range(repeats)],
        "run_id": [f"{size}.r{repeat}" for _ in range(draws) for repeat in range(repeats)],
        "case_name": ["weak"] * count,
        "workload": ["made"] * count,
        "workload_options": ["{}"] * count,
        "data_source": ["made"] * count,
        "device_type": ["cpu"] * count,
        "point_id": [f"{size}"] * count,
        "workers": np.full(count, WORKERS[size]),
        "nodes": np.full(count, 1),
        "ranks_per_node": np.full(count, WORKERS[size]),
        "threads": np.full(count, 1),
        "round": np.tile(np.arange(repeats), draws),
        "stops_early": np.full(count, False),
        "until_loss": np.full(count, 1.0),
        "global_batch": np.full(count, BATCHES[size]),
        "reached": made.reached.ravel(),
        "since_last": made.since_last.ravel(),
        "steps": (made.examples / BATCHES[size]).ravel().astype(np.int64),
        "examples": made.examples.ravel(),
        "seconds": made.seconds.ravel(),
        "throughput": made.throughput.ravel(),
        "training_share": (made.examples / made.throughput / made.seconds).ravel(),
    }
    return pa.table(columns)


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """Shares of the draws."""

    held: dict[str, float]
    """Factor -> intervals that contain the truth, among those with both ends."""
    bounded: float
    """Draws in which half the runs or more missed the target: one end is known."""
    bound_held: float | None
    """The truth is beyond that end of the efficiency, among them; null without any."""
    width: float
    """Median of the efficiency's upper end ÷ its lower end."""


def coverage(needs: Needs, repeats: int, missing: float, draws: int, seed: int) -> Coverage:
    rng = np.random.default_rng(seed)
    drift = rng.normal(0, DRIFT, (draws, repeats))
    true = truth(needs)
    with duckdb.connect() as connection:
        schema.create(connection)
        for size, share in ((0, 0.0), (1, missing)):
            connection.register("made", rows(size, trainings(needs, size, drift, share, rng)))
            connection.execute("INSERT INTO target_runs BY NAME FROM made")
        connection.execute(f"INSERT INTO target_efficiency BY NAME {schema.text('target_efficiency')}")
        ends = ", ".join(
            f"avg(({true[name]} BETWEEN {name}_lo AND {name}_hi)::INT) FILTER (bound IS NULL)"
            for name in FACTORS
        )
        found = connection.execute(
            f"""
            SELECT
                {ends},
                avg((bound IS NOT NULL)::INT),
                avg(({true["efficiency"]} <= efficiency_hi)::INT) FILTER (bound = 'at most'),
                median(efficiency_hi / efficiency_lo)
            FROM target_efficiency WHERE NOT is_baseline
            """
        ).fetchone()
    assert found
    return Coverage(
        held=dict(zip(FACTORS, found[: len(FACTORS)], strict=True)),
        bounded=found[-3],
        bound_held=found[-2],
        width=found[-1],
    )


_HEAD = (
    "| examples needed | repeats | miss the target | throughput | examples | share | product | median width | "
    "only a bound | it holds |"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--draws", type=int, default=2_000)
    parser.add_argument("--repeats", type=int, nargs="+", default=[5, 10, 20])
    parser.add_argument("--missing", type=float, nargs="+", default=[0.0, 0.1, 0.3])
    parser.add_argument("--seed", type=int, default=20261126)
    asked = parser.parse_args()
    print(_HEAD)
    print("| --- " * (_HEAD.count("|") - 1) + "|")
    for needs in NEEDS:
        for repeats in asked.repeats:
            for missing in asked.missing:
                one = coverage(needs, repeats, missing, asked.draws, asked.seed)
                cells = [
                    *(f"{100 * one.held[name]:.1f} %" for name in FACTORS),
                    f"×/÷ {one.width**0.5:.2f}",
                    f"{100 * one.bounded:.1f} %",
                    "" if one.bound_held is None else f"{100 * one.bound_held:.1f} %",
                ]
                print(
                    f"| {needs.name} | {repeats} | {100 * missing:.0f} % | {' | '.join(cells)} |", flush=True
                )


if __name__ == "__main__":
    main()
