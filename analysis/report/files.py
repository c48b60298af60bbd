"""File names that are safe on every system, and files that are whole or not there."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

_LONGEST = 120
"""Characters of a file name before its hash and ending."""
_COMPARISON = "compare-"
"""How names of compare pages begin."""


def page_name(session_id: str) -> str:
    """`<session_id>.html`; where the name is unsafe, too long or taken, a safe form of it with a hash of the whole."""
    safe = re.sub(r"[^A-Za-z0-9._-]", "_", session_id).lstrip(".")[:_LONGEST]
    is_taken = safe.lower() == "index" or safe.lower().startswith(_COMPARISON)
    if safe != session_id or is_taken or not safe:
        digest = hashlib.sha256(session_id.encode()).hexdigest()[:12]
        safe = f"{safe}-{digest}"
    return f"{safe}.html"


def compare_name(sides: Sequence[str | Sequence[str]]) -> str:
    """`compare-<hash>.html`: the same sessions in the same order have the same page; `sides` as compare.groups has
    them."""
    digest = hashlib.sha256(json.dumps(list(sides)).encode()).hexdigest()[:12]
    return f"{_COMPARISON}{digest}.html"


def compare_files(folder: Path) -> list[Path]:
    """Files that are named like compare pages; what only has such a name, a pipe, would hold up who reads it."""
    return sorted(path for path in folder.glob(f"{_COMPARISON}*.html") if path.is_file())


def write_whole(path: Path, content: str) -> None:
    """To a temporary name beside it, then renamed."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.write_text(content, encoding="utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
