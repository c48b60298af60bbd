"""MANIFEST.json of an archive: the session's files, each with its size and SHA-256."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from bench.common.errors import InputError

NAME = "MANIFEST.json"
REPORT = "report.html"
FORMAT = 1
"""Version of the archive format. 1: the first."""
MOST_FILES = 500_000
MOST_BYTES = 256 * 2**30
"""Most bytes of all unpacked files together."""
MOST_MANIFEST_BYTES = 128 * 2**20
MOST_JSON_BYTES = 64 * 2**20
"""Largest other JSON file; `bench load` does not read larger ones."""
MOST_VALUES = 4_000_000
"""Most values of a JSON file: a few hundred kilobytes of an archive can unpack to lists that fill the memory."""

_OF_A_SESSION = ("session.json", "plan.json", REPORT)
_FOLDER = re.compile(r"[^/\\.\x00-\x1f\x7f][^/\\\x00-\x1f\x7f]{0,254}")
_LONGEST_FOLDER_BYTES = 255
_ATTEMPT = re.compile(r"attempt\d{1,6}")
_OF_A_RUN = re.compile(r"run\.json|[a-z_]+(\.[a-z0-9]+){0,4}\.parquet")
_LOG = re.compile(r"[A-Za-z0-9_.-]{0,100}\.log")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True)
class Listed:
    """A file of the archive."""

    size_bytes: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """The files of one session's archive."""

    session_id: str
    files: dict[str, Listed]
    """By path in the session's folder, with forward slashes."""

    def text(self) -> str:
        """The manifest as JSON; identical for identical files."""
        files = {
            name: {"bytes": one.size_bytes, "sha256": one.sha256} for name, one in sorted(self.files.items())
        }
        return json.dumps({"format": FORMAT, "session_id": self.session_id, "files": files}, indent=1) + "\n"


def belongs(path: str) -> bool:
    """Whether a session's archive may contain a file with this path. Nothing else is packed or unpacked."""
    if path in _OF_A_SESSION:
        return True
    run, *inner = path.split("/")
    if len(inner) == 2 and _ATTEMPT.fullmatch(inner[0]):
        inner = inner[1:]
    return (
        len(inner) == 1
        and run not in {NAME, *_OF_A_SESSION}
        and is_folder(run)
        and bool(_OF_A_RUN.fullmatch(inner[0]) or _LOG.fullmatch(inner[0]))
    )


def is_folder(name: str) -> bool:
    """Whether a run's folder may have this name. Names with a leading dot are temporary folders, or `..`."""
    try:
        return bool(_FOLDER.fullmatch(name)) and len(name.encode()) <= _LONGEST_FOLDER_BYTES
    except UnicodeEncodeError:  # half a character, which JSON can express
        return False


def parse_json(name: str, content: bytes) -> Any:
    """Parse a JSON file of an archive. Raises InputError if it is not JSON or has too many values."""
    if sum(content.count(sign) for sign in (b",", b"[", b"{")) > MOST_VALUES:
        raise InputError(f"{name}: more than {MOST_VALUES:,} values: too many for a session")
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name}: not JSON: {str(error)[:80]}") from error


def parse(content: bytes) -> Manifest:
    """Parse MANIFEST.json. Raises InputError that names the wrong entry."""
    found = parse_json(NAME, content)
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        version = found.get("format") if isinstance(found, dict) else None
        raise InputError(f"{NAME}: format is {str(version)[:20]}, this scalebench reads {FORMAT}")
    session_id, files = found.get("session_id"), found.get("files")
    if not isinstance(session_id, str) or not isinstance(files, dict):
        raise InputError(f"{NAME}: no session_id and files")
    listed = {name: _listed(name, one) for name, one in files.items()}
    if len(listed) > MOST_FILES or sum(one.size_bytes for one in listed.values()) > MOST_BYTES:
        raise InputError(
            f"{NAME}: more than {MOST_FILES:,} files or {MOST_BYTES >> 30} GiB: too large for a session"
        )
    if "session.json" not in listed:
        raise InputError(f"{NAME}: lists no session.json")
    return Manifest(session_id=session_id, files=listed)


def _listed(name: str, one: Any) -> Listed:
    if not belongs(name):
        raise InputError(f"{NAME}: {name[:120]!r} is not a file of a session")
    size, sha256 = (one.get("bytes"), one.get("sha256")) if isinstance(one, dict) else (None, None)
    if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size <= MOST_BYTES:
        raise InputError(f"{NAME}: {name}: bytes is {str(size)[:40]}, not a size")
    if name.endswith(".json") and size > MOST_JSON_BYTES:
        raise InputError(f"{NAME}: {name}: {size:,} bytes: JSON may have {MOST_JSON_BYTES:,} at most")
    if not isinstance(sha256, str) or not _SHA256.fullmatch(sha256):
        raise InputError(f"{NAME}: {name}: sha256 is {str(sha256)[:80]!r}, not a SHA-256")
    return Listed(size_bytes=size, sha256=sha256)
