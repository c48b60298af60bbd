"""What Slurm's accounts say of a finished step, which a batch script leaves in the session's folder."""

from __future__ import annotations

from pathlib import Path

from bench.files import read_json, write_json
from bench.launch.salvage import is_written
from bench.slurm.allocation import max_rss

_KEY = "slurm_max_rss_bytes"
"""Fact of the session's first node: the largest task of any step of its jobs, as Slurm sampled it."""


def note_max_rss(results: Path) -> None:
    """Put it into session.json, beside what the sessions measured themselves. What cannot be read says nothing."""
    for session_json in sorted(results.glob("*/session.json")):
        sizes = [size for path in session_json.parent.glob("slurm-steps-*.json") if (size := _read(path))]
        if sizes and not is_written(session_json.parent):
            _note(session_json, str(max(sizes)))


def _read(path: Path) -> int | None:
    try:
        return max_rss(read_json(path))
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None  # cut off, or another version's


def _note(session_json: Path, value: str) -> None:
    try:
        session = read_json(session_json)
        facts = session["environment"]["0"]
    except (OSError, ValueError, LookupError, TypeError):
        return  # `bench load` is who complains about it
    if facts.get(_KEY) != value:
        facts[_KEY] = value
        write_json(session_json, session)
