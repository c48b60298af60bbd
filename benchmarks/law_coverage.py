"""How often the 95 % intervals of scaling_prediction contain the truth, for made-up cases.

python benchmarks/law_coverage.py --draws 2000
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
        return 1_000 * self.law.curve(np.array(workers, float), np.array(self.coefficients))


TRUTHS = (
    Truth(law=AMDAHL, coefficients=(0.04,), scaling="strong"),
    Truth(law=GUSTAFSON, coefficients=(0.1,), scaling="weak"),
    Truth(law=USL, coefficients=(0.05, 0.002), scaling="strong"),
    Truth(law=USL, coefficients=(0.02, 0.0001), scaling="strong"),
)
SIZES = ((1, 2, 4, 8), (1, 2, 4, 8, 16), (1, 2, 4, 8, 16, 32))
NOISES = (0.01, 0.03)
"""Standard deviation of ln(throughput) of a case's mean."""


def points(
    truth: Truth, sizes: Sequence[int], noise: float, draws: int, seed: int
) -> Iterator[dict[str, Any]]:
    """Rows of law_points, one case per draw."""
    random = np.random.default_rng(seed)
    clean = truth.curve(sizes)
    for draw in range(draws):
        measured = clean * random.lognormal(0, noise, len(sizes))
        for workers, throughput in zip(sizes, measured.tolist(), strict=True):
            yield {
                "session_id": "made",
                "case_name": f"{draw:05d}",
                "scaling": truth.scaling,
                "axis": "threads",
                "workers": workers,
                "mean_throughput": throughput,
                "speedup": throughput / measured[0],
            }


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """Results for the intervals one doubling beyond the largest size, and four."""

    given: float
    """Share of the draws that have an interval."""
    near: float
    far: float
    error: float
    """Median relative error of the prediction at four doublings."""


def coverage(truth: Truth, sizes: Sequence[int], noise: float, draws: int, seed: int = 0) -> Coverage:
    with duckdb.connect() as connection:
        schema.create(connection)
        connection.execute("INSERT INTO sessions (session_id) VALUES ('made')")
        connection.register("made", pa.Table.from_pylist(list(points(truth, sizes, noise, draws, seed))))
        connection.execute("INSERT INTO law_points BY NAME FROM made")
        insert_rows(connection, "law_fits", fit_laws(connection))
        near, far = (_held(connection, truth, max(sizes) * times) for times in (2, 16))
    return Coverage(given=near[0] / draws, near=near[1], far=far[1], error=far[2])


def _held(connection: duckdb.DuckDBPyConnection, truth: Truth, workers: int) -> tuple[int, float, float]:
    """Number of intervals, the share that contains the truth, and the median error."""
    query = """
        SELECT
            count(throughput_lo),
            avg(($truth BETWEEN throughput_lo AND throughput_hi)::INT),
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--draws", type=int, default=2_000)
    asked = parser.parse_args()
    print("| law | sizes | noise | has an interval | holds at 2× | holds at 16× | median error at 16× |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for truth in TRUTHS:
        name = f"{truth.law.name} {', '.join(f'{value:g}' for value in truth.coefficients)}"
        for sizes in SIZES:
            for noise in NOISES:
                one = coverage(truth, sizes, noise, asked.draws)
                shares = (one.given, one.near, one.far, one.error)
                cells = " | ".join(f"{100 * share:.0f} %" for share in shares)
                print(f"| {name} | {len(sizes)} to {max(sizes)} | {100 * noise:g} % | {cells} |", flush=True)


if __name__ == "__main__":
    main()
