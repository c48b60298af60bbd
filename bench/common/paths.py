"""Folders of suites, results and custom rules, and how this program was called."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

from bench.common.errors import InputError

_HERE = Path(__file__).resolve().parents[1]


def suites_folder() -> Path:
    """The folder of shipped suites: inside the installed package, or at the top of a checkout."""
    installed = _HERE / "_suites"
    return installed if installed.is_dir() else _HERE.parent / "suites"


def results_folder(option: str | Path | None = None) -> Path:
    """The results folder: --results, else $BENCH_RESULTS, else ./results. It need not exist.

    Raises InputError if its name is not UTF-8."""
    folder = Path(option or os.environ.get("BENCH_RESULTS") or "results")
    refuse_other_than_utf8(str(folder.resolve()), "results folder")
    return folder


def refuse_other_than_utf8(name: str, kind: str) -> None:
    """Raises InputError for a name of the system that is not UTF-8: neither JSON nor DuckDB can hold it."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        shown = name.encode("utf-8", "backslashreplace").decode("utf-8")
        raise InputError(
            f"{kind} {shown}: this is not UTF-8: rename the file or folder, or give another"
        ) from None


def writable_results_folder(option: str | Path | None) -> Path:
    """The results folder of a new session. Raises InputError if DuckDB cannot write a database there, or if the folder
    of temporary files has no usable name."""
    folder = results_folder(option)
    refuse_other_than_utf8(tempfile.gettempdir(), "TMPDIR")
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
