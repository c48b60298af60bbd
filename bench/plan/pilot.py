"""A pilot: an earlier session of the same suite, from which a session is planned."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.common.files import read_json

if TYPE_CHECKING:
    from bench.suite.models import ResolvedSuite

_PLANNED = ("steps", "epochs", "repeats", "until", "until_efficiency", "max_repeats", "timeout_s")
"""Keys of `measure` that a pilot need not share."""


def newest_pilot(results: Path, suite: ResolvedSuite) -> str | None:
    """The id of the newest finished session that measured this suite with these options, other than the numbers of
    steps and rounds; null if there is none. `results` need not exist."""
    wanted, found = _settings(suite.to_json()), []
    for path in results.glob("*/session.json"):
        try:
            head = read_json(path)
            if head["finished_at"] is not None and _settings(head["resolved"]) == wanted:
                found.append((head["created_at"], head["session_id"]))
        except (OSError, ValueError, KeyError, TypeError):
            continue  # `bench load` reports damaged files
    return max(found)[1] if found else None


def _settings(resolved: dict[str, Any]) -> list[dict[str, Any]]:
    """The cases of a suite, without what is planned."""
    return [
        case | {"measure": {key: value for key, value in case["measure"].items() if key not in _PLANNED}}
        for case in resolved["cases"]
    ]
