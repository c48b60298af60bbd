"""Make a results folder whose database has a made-up session of any size, for measuring reports and queries.

python benchmarks/synthetic_session.py RESULTS --cases 300 --sizes 1 8 --steps 100

It writes only results.duckdb, without result files: `bench load` would find nothing.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from analysis.database import connections, schema
from analysis.loading.derive import derive_and_diagnose, derive_runs

_SQL = Path(__file__).with_suffix(".sql")


def make(results: Path, *, memory_limit: str | None = None, **parameters: str | int | float) -> int:
    """Write the database; return its number of step rows. Parameters are those of synthetic_session.sql."""
    results.mkdir(parents=True, exist_ok=True)
    with connections.writer(results) as connection, connections.transaction(connection):
        if memory_limit is not None:
            connection.execute("SET memory_limit = $limit", {"limit": memory_limit})
        for name, value in parameters.items():
            connection.execute(f"SET VARIABLE {name} = $value", {"value": value})
        connection.execute(_SQL.read_text(encoding="utf-8"))
        derive_runs(connection)
        derive_and_diagnose(connection, [str(parameters["session_id"])], schema.shipped_rules())
        counted = connection.execute("SELECT count(*) FROM steps").fetchone()
    assert counted
    return int(counted[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("results", type=Path, help="a folder to make")
    parser.add_argument("--cases", type=int, default=30)
    parser.add_argument(
        "--sizes", type=int, nargs=2, default=(1, 8), help="smallest and largest, powers of two"
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--ranks-per-node", type=int, default=8)
    parser.add_argument("--evals", type=int, default=5, help="validations of a run")
    parser.add_argument("--sample-hz", type=float, default=1.0, help="sensor readings per second and device")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda")
    asked = parser.parse_args()
    smallest, largest = (size.bit_length() - 1 for size in asked.sizes)
    rows = make(
        asked.results,
        session_id=f"20261121T014925Z-synthetic-{asked.cases:04d}",
        cases=asked.cases,
        smallest_power=smallest,
        largest_power=largest,
        repeats=asked.repeats,
        steps=asked.steps,
        ranks_per_node=asked.ranks_per_node,
        evals=asked.evals,
        sample_hz=asked.sample_hz,
        device_type=asked.device,
    )
    print(f"{rows:,} step rows in {asked.results}")


if __name__ == "__main__":
    main()
