"""Where the suites lie (inside the installed package, or at the top of a checkout) and where results go."""

from __future__ import annotations

import os
from pathlib import Path

_HERE = Path(__file__).resolve().parent


def suites_folder() -> Path:
    """The folder of shipped suites."""
    installed = _HERE / "_suites"
    return installed if installed.is_dir() else _HERE.parent / "suites"


def results_folder(option: str | Path | None = None) -> Path:
    """Where results lie: --results, else $BENCH_RESULTS, else ./results. It need not exist."""
    return Path(option or os.environ.get("BENCH_RESULTS") or "results")
