"""Raw rows of interrupted runs. Importing this module imports neither NumPy nor PyArrow: usually there are no rows."""

from __future__ import annotations

from pathlib import Path

from bench.common.files import raw_files


def finalise(results: Path) -> list[str]:
    """Convert the raw files of every interrupted run below `results` to Parquet. Returns a message for each failure."""
    problems = []
    for run_json in sorted(results.rglob("run.json")):
        if not raw_files(run_json.parent):
            continue
        from bench.measure.write_parquet import finalise_run

        try:
            finalise_run(run_json)
        except (ValueError, KeyError, TypeError, OSError) as error:
            problems.append(f"{run_json.parent}: raw step rows were not converted: {error}")
    return problems
