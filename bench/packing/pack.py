"""Pack a session's folder into an archive: the same files always give the same bytes."""

from __future__ import annotations

import fcntl
import hashlib
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.common.errors import InputError
from bench.packing.manifest import NAME, REPORT, Listed, Manifest, belongs
from bench.session.recovery import BEGUN, LOCK

_CHUNK = 2**20
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""Time of every file in the archive: the oldest that a ZIP archive can store."""


@dataclass(frozen=True, kw_only=True)
class Packed:
    """An archive that was written."""

    path: Path
    files: int
    has_report: bool
    size_bytes: int
    sha256: str


Page = Callable[[Path, Path], Path | None]
"""Writes a session's page into a folder and returns its path; null if the page cannot be made."""


def no_page(session: Path, folder: Path) -> None:
    """A Page for an archive without a report."""


def pack(session: Path, out: Path, *, logs: bool, page: Page) -> Packed:
    """Pack `session` into the new file `out`, completely or not at all.

    Raises InputError if `out` exists, or if the session is still being written or contains links or raw rows."""
    if not (session / "session.json").is_file():
        raise InputError(f"{session}: not a session: it has no session.json")
    if out.exists():
        raise InputError(f"{out} exists: choose another --out")
    with _lock_shared(session), tempfile.TemporaryDirectory(prefix="scalebench-pack-") as aside:
        files = dict(_files(session, logs=logs))
        report = page(session, Path(aside))
        files |= {REPORT: report} if report else {}
        listed = {name: _listed(path) for name, path in files.items()}
        manifest = Manifest(session_id=session.name, files=listed)
        temporary = out.with_name(f".{out.name}.tmp")
        try:
            _write(temporary, manifest, files)
            temporary.rename(out)
        except OSError as error:
            raise InputError(f"{out} cannot be written: {error.strerror}: choose another --out") from error
        finally:
            temporary.unlink(missing_ok=True)
    done = _listed(out)
    return Packed(
        path=out,
        files=len(files),
        has_report=report is not None,
        size_bytes=done.size_bytes,
        sha256=done.sha256,
    )


@contextmanager
def _lock_shared(session: Path) -> Iterator[None]:
    """Keep others from writing the session. Raises InputError if a `bench suite` is writing it."""
    lock = session / LOCK
    if not lock.exists():
        yield
        return
    with lock.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"{session.name} is being written by `bench suite`: wait for its end") from None
        yield


def _files(session: Path, *, logs: bool) -> Iterator[tuple[str, Path]]:
    """Files to pack, by name, in order. Files that belongs() does not know are left out, among them Slurm's records of
    jobs, which contain user names."""
    for path in sorted(session.rglob("*")):
        name = path.relative_to(session).as_posix()
        if path.name == BEGUN or path.suffix == ".raw":
            raise InputError(f"{path}: rows that were never imported: `bench load` first")
        if path.is_symlink():
            raise InputError(f"{path}: a link: an archive contains no files from elsewhere")
        if name == REPORT or not path.is_file() or not belongs(name) or (path.suffix == ".log" and not logs):
            continue
        yield name, path


def _listed(path: Path) -> Listed:
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
    return Listed(size_bytes=size, sha256=digest.hexdigest())


def _write(out: Path, manifest: Manifest, files: dict[str, Path]) -> None:
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(_member(NAME), manifest.text())
        for name, path in sorted(files.items()):
            with path.open("rb") as file, archive.open(_member(name), "w", force_zip64=True) as member:
                while chunk := file.read(_CHUNK):
                    member.write(chunk)


def _member(name: str) -> zipfile.ZipInfo:
    """A member's header, with compression except for Parquet, which is compressed already."""
    info = zipfile.ZipInfo(name, _EPOCH)
    info.compress_type = zipfile.ZIP_STORED if name.endswith(".parquet") else zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    info.create_system = 3
    return info
