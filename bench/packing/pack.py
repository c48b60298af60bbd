"""From a session's folder to an archive: the same bytes for the same files, whoever packs them and when."""

from __future__ import annotations

import fcntl
import hashlib
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.errors import InputError
from bench.launch.salvage import BEGUN, LOCK
from bench.packing.manifest import NAME, REPORT, Listed, Manifest, belongs

_CHUNK = 2**20
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The oldest time that a ZIP archive can say: that of every file in it."""


@dataclass(frozen=True, kw_only=True)
class Packed:
    """An archive that was written."""

    path: Path
    files: int
    has_report: bool
    size_bytes: int
    sha256: str


Page = Callable[[Path, Path], Path | None]
"""Writes a session's page into a folder, and says where; null where it cannot be made."""


def no_page(session: Path, folder: Path) -> None:
    """For an archive without a report."""


def pack(session: Path, out: Path, *, logs: bool, page: Page) -> Packed:
    """Write `out`, which must not exist, whole or not at all.

    Raises InputError where the session is still being written or holds what is no file of its own."""
    if not (session / "session.json").is_file():
        raise InputError(f"{session}: no session: it has no session.json")
    if out.exists():
        raise InputError(f"{out} exists: choose another --out")
    with _nobody_writes(session), tempfile.TemporaryDirectory(prefix="scalebench-pack-") as aside:
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
def _nobody_writes(session: Path) -> Iterator[None]:
    """Raises InputError where a `bench suite` holds the session."""
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
    """In order of name. What Slurm said of a job names its user, and is left out like everything else that is neither
    JSON nor Parquet of ours."""
    for path in sorted(session.rglob("*")):
        name = path.relative_to(session).as_posix()
        if path.name == BEGUN or path.suffix == ".raw":
            raise InputError(f"{path}: rows that were never imported: `bench load` first")
        if path.is_symlink():
            raise InputError(f"{path}: a link: an archive holds nothing that lies elsewhere")
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
    """Parquet is compressed already."""
    info = zipfile.ZipInfo(name, _EPOCH)
    info.compress_type = zipfile.ZIP_STORED if name.endswith(".parquet") else zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    info.create_system = 3
    return info
