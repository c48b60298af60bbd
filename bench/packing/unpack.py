"""Unpack archives, each into a session's folder, which appears only once every checksum is verified.

An archive may come from an untrusted source. Its manifest lists the files and their sizes. A file that is not listed,
is longer or has another checksum ends the call, and everything written so far is removed.
"""

from __future__ import annotations

import hashlib
import io
import shutil
import stat
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.common.errors import InputError
from bench.importing.import_session import create_whole
from bench.packing.manifest import (
    MOST_FILES,
    MOST_MANIFEST_BYTES,
    NAME,
    REPORT,
    Listed,
    Manifest,
    parse,
    parse_json,
)
from bench.session.folder import SessionFolder

_CHUNK = 2**20
_MOST_DIRECTORY_BYTES = 256 * 2**20
"""Largest directory at the archive's end, which has 46 bytes and a name for each member."""
_ENTRY = b"PK\x01\x02"
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 1


def unpack(paths: Sequence[Path], results: Path) -> list[Path]:
    """Unpack archives as new sessions, all or none. Returns their folders. Raises InputError that names the wrong
    file."""
    archives: dict[Path, Path] = {}
    try:
        for path in paths:
            archives[_unpack(path, results, archives)] = path
    except BaseException:
        for session in archives:
            shutil.rmtree(session, ignore_errors=True)
        raise
    return list(archives)


def _unpack(path: Path, results: Path, earlier: Mapping[Path, Path]) -> Path:
    """The session's folder. `earlier`: folder -> archive of each session that this call has unpacked."""
    with _reading(path), _Bounded(io.FileIO(str(path))) as file, zipfile.ZipFile(file) as archive:
        manifest = parse(_manifest(archive))
        _compare(archive, manifest)
        _has_room(results, manifest)
        session = SessionFolder(results, manifest.session_id)
        if session.path in earlier:
            raise InputError(
                f"holds the same session as {earlier[session.path]}, {manifest.session_id}: name one of them"
            )
        if session.path.exists():
            raise InputError(
                f"session {manifest.session_id} exists in {results}: --results names another folder"
            )
        create_whole(session, lambda folder: _fill(folder, archive, manifest))
    return session.path


class _Bounded(io.BufferedReader):
    """An archive's file. Refuses a directory with too many members before zipfile creates an object for each.

    zipfile reads the directory with a single call of `read`."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > _MOST_DIRECTORY_BYTES:
            raise InputError(f"{size:,} bytes list its members: too many for a session")
        found = super().read(size)
        if found.count(_ENTRY) > MOST_FILES + 1:
            raise InputError(f"more than {MOST_FILES:,} files: too many for a session")
        return found


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Raise every error as an InputError that names the archive."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise InputError(f"{path}: not a valid archive of `bench pack`: {error}") from error
    except InputError as error:
        raise InputError(f"{path}: {error}; nothing was written") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error


def _manifest(archive: zipfile.ZipFile) -> bytes:
    try:
        info = archive.getinfo(NAME)
    except KeyError:
        raise InputError(f"has no {NAME}: not written by `bench pack`") from None
    if info.file_size > MOST_MANIFEST_BYTES:
        raise InputError(f"{NAME}: {info.file_size:,} bytes: too large for a manifest")
    _check_member(info)
    with archive.open(info) as member:
        return member.read(MOST_MANIFEST_BYTES)


def _compare(archive: zipfile.ZipFile, manifest: Manifest) -> None:
    """Raises InputError unless the archive has exactly the listed files, each once."""
    members = archive.infolist()
    names = [member.filename for member in members]
    for member in members:
        _check_member(member)
        if member.filename != NAME and member.filename not in manifest.files:
            raise InputError(f"{member.filename[:120]!r} is not in {NAME}")
    if len(set(names)) < len(names):
        raise InputError(f"{Counter(names).most_common(1)[0][0]} occurs twice")
    if missing := manifest.files.keys() - set(names):
        raise InputError(f"{min(missing)} is in {NAME}, but not in the archive")


def _check_member(member: zipfile.ZipInfo) -> None:
    if not member.filename:  # zipfile's is_dir fails for it
        raise InputError("a member has no name")
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind not in (0, stat.S_IFREG) or member.is_dir():
        raise InputError(f"{member.filename[:120]!r} is a link or a folder, not a file")
    if member.flag_bits & _ENCRYPTED or member.compress_type not in _METHODS:
        raise InputError(
            f"{member.filename[:120]!r} is encrypted, or packed in a way that `bench pack` does not use"
        )


def _has_room(results: Path, manifest: Manifest) -> None:
    needed = sum(one.size_bytes for one in manifest.files.values())
    there = next(folder for folder in (results.absolute(), *results.absolute().parents) if folder.exists())
    if needed > (free := shutil.disk_usage(there).free):
        raise InputError(f"needs {needed:,} bytes, {results} has {free:,}: --results names another folder")


def _fill(folder: Path, archive: zipfile.ZipFile, manifest: Manifest) -> None:
    for name, listed in manifest.files.items():
        if name != REPORT:
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            _extract(archive, name, listed, target)
    session_json = folder / "session.json"
    head = parse_json(session_json.name, session_json.read_bytes())
    if not isinstance(head, dict) or head.get("session_id") != manifest.session_id:
        raise InputError(f"session.json is not of session {manifest.session_id}")


def _extract(archive: zipfile.ZipFile, name: str, listed: Listed, target: Path) -> None:
    """Unpack one file and verify it. Never writes more than its listed size."""
    digest, size = hashlib.sha256(), 0
    with archive.open(name) as member, target.open("xb") as file:
        while chunk := member.read(_CHUNK):
            size += len(chunk)
            if size > listed.size_bytes:
                break
            digest.update(chunk)
            file.write(chunk)
    if size != listed.size_bytes:
        more = "more" if size > listed.size_bytes else f"{size:,}"
        raise InputError(f"{name}: {more} bytes, {NAME} says {listed.size_bytes:,}")
    if digest.hexdigest() != listed.sha256:
        raise InputError(f"{name}: its SHA-256 is not that of {NAME}: the archive was damaged or changed")
