"""Folders of suites, results and custom rules, and how this program was called."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

from bench.common.errors import InputError

_HERE = Path(__file__).resolve().parents[1]


def suites_folder() -> Path:
    """The folder of shipped suites: inside the installed package, or at the top of a checkout."""
    installed = _HERE / "_suites"
    return installed if installed.is_dir() else _HERE.parent / "suites"


def results_folder(option: str | Path | None = None) -> Path:
    """The results folder: --results, else $BENCH_RESULTS, else ./results. It need not exist."""
    return Path(option or os.environ.get("BENCH_RESULTS") or "results")


def writable_results_folder(option: str | Path | None) -> Path:
    """The results folder of a new session. Raises InputError if DuckDB cannot write a database there."""
    folder = results_folder(option)
    if "?" in str(folder.resolve()):
        raise InputError(f"results folder {folder}: DuckDB cannot write where a name has a question mark")
    return folder


def rules_folder(option: str | Path | None = None) -> Path | None:
    """The folder of custom diagnosis rules: --rules, else $BENCH_RULES; null if neither is given."""
    named = option or os.environ.get("BENCH_RULES")
    return Path(named) if named else None


def called() -> str:
    """How to call this program in a shell: `bench` if the shell finds it, else the current command."""
    if shutil.which("bench"):
        return "bench"
    if Path(sys.argv[0]).name == "__main__.py":
        return shlex.join([sys.orig_argv[0], "-m", "bench"])
    return shlex.quote(sys.argv[0])
