"""Where links lie that stand in place of paths which DuckDB would take for patterns: one folder for each process."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path


def folder() -> Path:
    """Removed when the process ends."""
    return Path(_made().name)


@functools.cache
def _made() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="scalebench-load-")
