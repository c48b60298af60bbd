"""Peak memory of a session by Slurm's accounts, which a batch script stores in the session's folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.common.files import read_json, write_json
from bench.session.recovery import is_written

_KEY = "slurm_max_rss_bytes"
"""Fact of the session's first node: the largest resident set of a task of its jobs, as Slurm sampled it."""


def note_max_rss(results: Path) -> None:
    """Add the fact to session.json of every session that is not being written. Unreadable accounts are ignored."""
    for session_json in sorted(results.glob("*/session.json")):
        session_folder = session_json.parent
        if session_folder.is_symlink() or not _is_regular(session_json):
            continue  # `bench load` reports it
        accounts = filter(_is_regular, session_folder.glob("slurm-steps-*.json"))
        sizes = [size for path in accounts if (size := _read(path))]
        if not sizes or is_written(session_folder):
            continue
        try:
            session = read_json(session_json)
            facts = session["environment"]["0"]
        except (OSError, ValueError, LookupError, TypeError):
            continue  # `bench load` reports it
        if facts.get(_KEY) != str(max(sizes)):
            facts[_KEY] = str(max(sizes))
            write_json(session_json, session)


def _is_regular(path: Path) -> bool:
    """Whether it is a file: no link, and no pipe or device, which may never end."""
    return path.is_file() and not path.is_symlink()


def _read(path: Path) -> int | None:
    try:
        return max_rss(read_json(path))
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None  # incomplete, or of another version


def max_rss(steps: Any) -> int | None:
    """Bytes of the largest resident set of a task of any step; null if Slurm sampled none.

    `steps` is the document of `sacct --json`. The batch shell is left out.
    """
    jobs = steps.get("jobs", []) if isinstance(steps, dict) else []
    used = [
        int(tres["count"])
        for job in jobs
        for step in job.get("steps", [])
        if _is_numbered(step.get("step", {}).get("id"))
        for tres in step.get("tres", {}).get("requested", {}).get("max", [])
        if tres.get("type") == "mem" and tres["count"]  # 0: the step ended before Slurm sampled it
    ]
    return max(used, default=None)


def _is_numbered(step_id: Any) -> bool:
    """True for `12.0` or, in newer versions of Slurm, {"step_id": "0"}; false for `12.batch`."""
    name = step_id.get("step_id") if isinstance(step_id, dict) else step_id
    return str(name).rpartition(".")[2].isdecimal()
