"""File names that are safe on every system, and files that are whole or not there."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

_LONGEST = 120
"""Characters of a file name before its hash and ending."""


def page_name(session_id: str) -> str:
    """`<session_id>.html`; where the name is unsafe, too long or taken, a safe form of it with a hash of the whole."""
    safe = re.sub(r"[^A-Za-z0-9._-]", "_", session_id).lstrip(".")[:_LONGEST]
    if safe != session_id or safe.lower() == "index" or not safe:
        digest = hashlib.sha256(session_id.encode()).hexdigest()[:12]
        safe = f"{safe}-{digest}"
    return f"{safe}.html"


def write_whole(path: Path, content: str) -> None:
    """To a temporary name beside it, then renamed."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.write_text(content, encoding="utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
