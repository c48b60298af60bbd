"""How often predictions of scaling laws hold, and how often the tests between laws are wrong, for made-up runs.

python benchmarks/law_coverage.py --draws 1000
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from analysis.database import schema
from analysis.database.rows import insert_rows
from analysis.laws.curves import AMDAHL, GUSTAFSON, USL
from analysis.laws.fit_rows import fit_laws
from analysis.laws.law import Law


@dataclass(frozen=True, kw_only=True)
class Truth:
    """A law with its coefficients."""

    law: Law
    coefficients: Sequence[float]
    scaling: str

    def curve(self, workers: Sequence[float]) -> Any:
        return 1_000 * np.exp(self.law.log_curve(np.array(workers, float), np.array(self.coefficients)))


TRUTHS = (
    Truth(law=AMDAHL, coefficients=(0.04,), scaling="strong"),
    Truth(law=GUSTAFSON, coefficients=(0.1,), scaling="weak"),
    Truth(law=USL, coefficients=(0.05, 0.002), scaling="strong"),
    Truth(law=USL, coefficients=(0.02, 0.0001), scaling="strong"),
)
SIZES = ((1, 2, 4, 8), (1, 2, 4, 8, 16), (1, 2, 4, 8, 16, 32))
REPEATS = 3
NOISE_OF_ROUNDS = 0.05
"""Standard deviation of what all runs of a round have in common, in ln(throughput)."""


def runs(
    truth: Truth, sizes: Sequence[int], noise: float, draws: int, repeats: int, seed: int
) -> Iterator[dict[str, Any]]:
    """Rows of law_points, one case per draw."""
    random = np.random.default_rng(seed)
    clean = truth.curve(sizes)
    for draw in range(draws):
        of_round = random.normal(0, NOISE_OF_ROUNDS, repeats)
        of_round -= of_round.mean()  # the truth is that of an average round
        for repeat in range(repeats):
            measured = clean * np.exp(of_round[repeat] + random.normal(0, noise, len(sizes)))
            for workers, throughput in zip(sizes, measured.tolist(), strict=True):
                yield {
                    "session_id": "made",
                    "case_name": f"{draw:05d}",
                    "scaling_mode": truth.scaling,
                    "axis": "threads",
                    "workers": workers,
                    "nodes": 1,
                    "round": repeat,
                    "throughput": throughput,
                    "throughput_of_one": 1_000.0,
                }


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """Shares of the draws; the true law predicts."""

    withheld: float
    """Without a prediction, because the runs reject the law."""
    near: float
    """Intervals that contain the truth at one doubling beyond the largest size, among the predictions."""
    far: float
    """The same at two doublings."""
    farthest: float
    """The same at four doublings."""
    width: float
    """Median at two doublings of the ratio between the interval's farther end and the prediction."""
    error: float
    """Median relative error of the prediction there."""
    other_preferred: float
    """The law that is not true is preferred: the USL for Amdahl's, or the serial law for the USL."""


def coverage(
    truth: Truth, sizes: Sequence[int], noise: float, draws: int, repeats: int = REPEATS, seed: int = 0
) -> Coverage:
    with duckdb.connect() as connection:
        schema.create(connection)
        connection.execute("INSERT INTO sessions (session_id) VALUES ('made')")
        made = pa.Table.from_pylist(list(runs(truth, sizes, noise, draws, repeats, seed)))
        connection.register("made", made)
        connection.execute("INSERT INTO law_points BY NAME FROM made")
        insert_rows(connection, "law_fits", fit_laws(connection))
        near, far, farthest = (_held(connection, truth, max(sizes) * times) for times in (2, 4, 16))
        wrong = "SELECT count(*) FROM law_fits WHERE is_preferred AND law <> $1"
        (preferred,) = connection.execute(wrong, [truth.law.name]).fetchone() or (0,)
    return Coverage(
        withheld=1 - far[0] / draws,
        near=near[1],
        far=far[1],
        farthest=farthest[1],
        width=far[2],
        error=far[3],
        other_preferred=preferred / draws,
    )


def _held(
    connection: duckdb.DuckDBPyConnection, truth: Truth, workers: int
) -> tuple[int, float, float, float]:
    """Number of predictions, share of intervals that contain the truth, the median width and the median error."""
    query = """
        SELECT
            count(throughput_lo),
            avg(($truth BETWEEN throughput_lo AND throughput_hi)::INT),
            median(greatest(throughput_hi / throughput, throughput / throughput_lo)),
            median(abs(throughput / $truth - 1))
        FROM scaling_prediction
        WHERE law = $law AND workers = $workers
    """
    true_throughput = float(truth.curve([workers])[0])
    found = connection.execute(
        query, {"truth": true_throughput, "law": truth.law.name, "workers": workers}
    ).fetchone()
    assert found
    return found


_HEAD = (
    "| truth | sizes | withheld | holds at 2× | at 4× | at 16× | width at 4× | median error at 4× | "
    "other law preferred |"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--draws", type=int, default=1_000)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument(
        "--noise", type=float, default=0.03, help="standard deviation of ln(throughput) of a run"
    )
    asked = parser.parse_args()
    print(_HEAD)
    print("| --- " * (_HEAD.count("|") - 1) + "|")
    for truth in TRUTHS:
        name = f"{truth.law.name} {', '.join(f'{value:g}' for value in truth.coefficients)}"
        for sizes in SIZES:
            one = coverage(truth, sizes, asked.noise, asked.draws, asked.repeats)
            held = [f"{100 * share:.0f} %" for share in (one.withheld, one.near, one.far, one.farthest)]
            rest = [f"×/÷ {one.width:.2f}", f"{100 * one.error:.0f} %", f"{100 * one.other_preferred:.1f} %"]
            print(f"| {name} | {len(sizes)} to {max(sizes)} | {' | '.join(held + rest)} |", flush=True)


if __name__ == "__main__":
    main()
