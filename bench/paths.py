"""Where the suites lie (inside the installed package, or at the top of a checkout) and where results go."""

from __future__ import annotations

import os
from pathlib import Path

from bench.errors import InputError

_HERE = Path(__file__).resolve().parent


def suites_folder() -> Path:
    """The folder of shipped suites."""
    installed = _HERE / "_suites"
    return installed if installed.is_dir() else _HERE.parent / "suites"


def results_folder(option: str | Path | None = None) -> Path:
    """Where results lie: --results, else $BENCH_RESULTS, else ./results. It need not exist."""
    return Path(option or os.environ.get("BENCH_RESULTS") or "results")


def writable_results_folder(option: str | Path | None = None) -> Path:
    """The same for whoever makes a session there. Raises InputError where no database could stand beside it."""
    folder = results_folder(option)
    if "?" in str(folder.resolve()):
        raise InputError(f"results folder {folder}: DuckDB cannot write where a name has a question mark")
    return folder


def rules_folder(option: str | Path | None = None) -> Path | None:
    """Where one's own rules of diagnosis lie: --rules, else $BENCH_RULES; None where there are none."""
    named = option or os.environ.get("BENCH_RULES")
    return Path(named) if named else None
