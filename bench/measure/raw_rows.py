"""Rows that interrupted runs left raw. Importing this imports neither NumPy nor PyArrow: mostly there are none."""

from __future__ import annotations

from pathlib import Path

from bench.files import raw_files


def finalise(results: Path) -> list[str]:
    """Make Parquet of every interrupted run's raw files below `results`. Returns what could not be read."""
    problems = []
    for run_json in sorted(results.rglob("run.json")):
        if not raw_files(run_json.parent):
            continue
        from bench.measure.finalise import finalise_run

        try:
            finalise_run(run_json)
        except (ValueError, KeyError, TypeError, OSError) as error:
            problems.append(f"{run_json.parent}: raw step rows were left as they are: {error}")
    return problems
