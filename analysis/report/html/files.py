"""File names that are safe on every system, and files that are complete or absent."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

from analysis.database.interrupt import temporary

_LONGEST = 120
"""Characters of a file name before its hash and ending."""
_COMPARISON = "compare-"
"""Prefix of comparisons."""
_HISTORY = "history-"
"""Prefix of histories."""


def page_name(session_id: str) -> str:
    """`<session_id>.html`; if that is unsafe, too long or reserved, a safe form with a hash of the id."""
    is_taken = session_id.lower() == "index" or session_id.lower().startswith((_COMPARISON, _HISTORY))
    return f"{_safe(session_id, is_taken=is_taken)}.html"


def history_name(suite: str) -> str:
    """`history-<suite>.html`, made safe in the same way."""
    return f"{_HISTORY}{_safe(suite)}.html"


def _safe(name: str, *, is_taken: bool = False) -> str:
    safe = re.sub(r"[^A-Za-z0-9._-]", "_", name).lstrip(".")[:_LONGEST]
    if safe == name and safe and not is_taken:
        return safe
    return f"{safe}-{hashlib.sha256(name.encode()).hexdigest()[:12]}"


def compare_name(sides: Sequence[str | Sequence[str]]) -> str:
    """`compare-<hash>.html`; the same sessions in the same order have the same name."""
    digest = hashlib.sha256(json.dumps(list(sides)).encode()).hexdigest()[:12]
    return f"{_COMPARISON}{digest}.html"


def compare_files(folder: Path) -> list[Path]:
    """Regular files with names like comparisons; reading a pipe with such a name would block."""
    return sorted(path for path in folder.glob(f"{_COMPARISON}*.html") if path.is_file())


def write_whole(path: Path, content: str) -> None:
    """Write a temporary file in the same folder, then rename it."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary(partial):
            partial.write_text(content, encoding="utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
