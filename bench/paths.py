"""Where the suites lie: inside the installed package, or at the top of a checkout."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).resolve().parent


def suites_folder() -> Path:
    """The folder of shipped suites."""
    installed = _HERE / "_suites"
    return installed if installed.is_dir() else _HERE.parent / "suites"
