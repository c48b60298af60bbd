"""What an archive holds: MANIFEST.json beside the session's own files, each with its size and SHA-256."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from bench.errors import InputError

NAME = "MANIFEST.json"
REPORT = "report.html"
FORMAT = 1
"""Of the archive. 1: since `bench pack` is there."""
MOST_FILES = 500_000
MOST_BYTES = 256 * 2**30
"""Of all files together, unpacked."""
MOST_MANIFEST_BYTES = 128 * 2**20
MOST_JSON_BYTES = 64 * 2**20
"""Of each other JSON file; `bench load` reads no larger one."""
MOST_VALUES = 4_000_000
"""Of a JSON file: a few hundred kilobytes of an archive can unfold to lists that fill memory."""

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
    """Of one session."""

    session_id: str
    files: dict[str, Listed]
    """By path within the session's folder, with forward slashes."""

    def text(self) -> str:
        """The same for the same files, whoever writes it."""
        files = {
            name: {"bytes": one.size_bytes, "sha256": one.sha256} for name, one in sorted(self.files.items())
        }
        return json.dumps({"format": FORMAT, "session_id": self.session_id, "files": files}, indent=1) + "\n"


def belongs(path: str) -> bool:
    """Whether a path is that of a file which a session's archive may hold: nothing else is packed or unpacked."""
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
    """Whether a run may be called so. A name that begins with a dot is somebody's work in progress, or `..`."""
    try:
        return bool(_FOLDER.fullmatch(name)) and len(name.encode()) <= _LONGEST_FOLDER_BYTES
    except UnicodeEncodeError:  # half a character, which JSON can spell
        return False


def parsed(name: str, content: bytes) -> Any:
    """Raises InputError where it is no JSON, or holds more values than any file of ours."""
    if sum(content.count(sign) for sign in (b",", b"[", b"{")) > MOST_VALUES:
        raise InputError(f"{name}: more than {MOST_VALUES:,} values: no session has")
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name}: not JSON: {str(error)[:80]}") from error


def parse(content: bytes) -> Manifest:
    """Raises InputError with the place of what is wrong."""
    found = parsed(NAME, content)
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        version = found.get("format") if isinstance(found, dict) else None
        raise InputError(f"{NAME}: format is {str(version)[:20]}, this scalebench reads {FORMAT}")
    session_id, files = found.get("session_id"), found.get("files")
    if not isinstance(session_id, str) or not isinstance(files, dict):
        raise InputError(f"{NAME}: no session_id and files")
    listed = {name: _listed(name, one) for name, one in files.items()}
    if len(listed) > MOST_FILES or sum(one.size_bytes for one in listed.values()) > MOST_BYTES:
        raise InputError(f"{NAME}: more than {MOST_FILES:,} files or {MOST_BYTES >> 30} GiB: no session is")
    if "session.json" not in listed:
        raise InputError(f"{NAME}: lists no session.json")
    return Manifest(session_id=session_id, files=listed)


def _listed(name: str, one: Any) -> Listed:
    if not belongs(name):
        raise InputError(f"{NAME}: {name[:120]!r} is no file of a session")
    size, sha256 = (one.get("bytes"), one.get("sha256")) if isinstance(one, dict) else (None, None)
    if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size <= MOST_BYTES:
        raise InputError(f"{NAME}: {name}: bytes is {str(size)[:40]}, no size")
    if name.endswith(".json") and size > MOST_JSON_BYTES:
        raise InputError(f"{NAME}: {name}: {size:,} bytes: JSON of ours has {MOST_JSON_BYTES:,} at most")
    if not isinstance(sha256, str) or not _SHA256.fullmatch(sha256):
        raise InputError(f"{NAME}: {name}: sha256 is {str(sha256)[:80]!r}, no SHA-256")
    return Listed(size_bytes=size, sha256=sha256)
