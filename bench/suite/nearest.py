"""The right name that a wrong one comes nearest to."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """`; did you mean NAME?`, or nothing where none is near."""
    known = list(names)
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5) or [
        right for right in known if len(name) > 1 and right.startswith(name)
    ]
    return f"; did you mean {near[0]}?" if near else ""
