"""Digests of the user's modules that this rank has imported."""

from __future__ import annotations

import sys
from pathlib import Path

from bench.common.custom_file import is_foreign
from bench.common.files import digest


def digests() -> dict[str, str]:
    """Path -> digest of the file of every imported module that is neither Python's, nor installed, nor scalebench's.
    A file that is named by a suite is one of them wherever it is."""
    found = {}
    for name, module in list(sys.modules.items()):
        file = _file(module)
        if file is None or (not name.startswith("bench_custom_") and is_foreign(file)):
            continue
        try:
            if Path(file).is_file():  # a pipe would block
                found[file] = digest(Path(file).read_bytes())
        except (OSError, ValueError):  # removed, or not a path
            continue
    return found


def _file(module: object) -> str | None:
    """The absolute path that a module says it is from. Entries of sys.modules may be anything, and asking a module may
    import it, so only its variables are read."""
    try:
        file = vars(module).get("__file__")
    except Exception:  # an object without variables, or whose variables raise
        return None
    return str(file) if isinstance(file, str) and file.startswith("/") else None
