"""Raw rows of interrupted runs. Importing this module imports neither NumPy nor PyArrow: usually there are no rows."""

from __future__ import annotations

from pathlib import Path

from bench.common.files import raw_files


def finalise(results: Path) -> list[str]:
    """Convert the raw files of every interrupted run below `results` to Parquet. Returns a message for each failure."""
    problems = []
    for run_json in sorted(results.rglob("run.json")):
        folder = run_json.parent
        if not raw_files(folder):
            continue
        odd = [path for path in sorted(folder.iterdir()) if _is_odd(path)]
        if odd:
            problems.append(
                f"{odd[0]}: a link, a pipe or a device: remove it, so that raw step rows are converted"
            )
            continue
        from bench.measure.write_parquet import finalise_run

        try:
            finalise_run(run_json)
        except (ValueError, KeyError, TypeError, OSError) as error:
            problems.append(f"{folder}: raw step rows were not converted: {error}")
    return problems


def _is_odd(path: Path) -> bool:
    """Whether it is a link, which may lead elsewhere, or a pipe or a device, which may never end."""
    return path.is_symlink() or not (path.is_file() or path.is_dir())
