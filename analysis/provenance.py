"""Where the figures of an imported session come from, in one sentence."""

from __future__ import annotations

import json

from analysis.fetched import Row

MOST_FILES = 3
"""That are named; the others are counted."""


def imported_from(session: Row) -> str:
    """`session` has `imported` and `created_at` of the table sessions; file names are as somebody else wrote them."""
    files = json.loads(session["imported"]).get("files") or []
    named = [_file(file) for file in files[:MOST_FILES] if isinstance(file, dict)]
    if len(files) > MOST_FILES:
        named.append(f"{len(files) - MOST_FILES:,} more")
    date = f" on {session['created_at']:%Y-%m-%d}" if session["created_at"] is not None else ""
    return f"Imported{date} from {', '.join(named) or 'an unnamed file'}; not measured by scalebench."


def _file(file: Row) -> str:
    return f"{file.get('name')} (SHA-256 {str(file.get('sha256'))[:12]})"
