"""Archives that would fill memory, and names that no folder can have: refused before anything is written."""

from __future__ import annotations

import hashlib
import json
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

_MEMORY_BYTES = 4 * 2**30
"""Limit of address space; torch's libraries take most of it, and a refused archive would take as much again."""


def archive(folder: Path, files: dict[str, bytes], **listed: object) -> Path:
    path = folder / "S.zip"
    sums = {
        name: {"bytes": len(text), "sha256": hashlib.sha256(text).hexdigest()} for name, text in files.items()
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as written:
        manifest = {"format": 1, "session_id": "S", "files": sums | listed}
        written.writestr("MANIFEST.json", json.dumps(manifest))
        for name, text in files.items():
            written.writestr(name, text)
    return path


def refused(path: Path) -> str:
    """Output of `bench load` about the archive, within bounded memory."""
    program = (
        f"import resource, runpy; resource.setrlimit(resource.RLIMIT_AS, ({_MEMORY_BYTES}, {_MEMORY_BYTES}));"
        "runpy.run_module('bench', run_name='__main__')"
    )
    command = [sys.executable, "-c", program, "load", str(path), "--results", str(path.parent / "results")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    results = path.parent / "results"
    assert not results.exists() or not list(results.iterdir())
    return done.stderr.removeprefix(f"error: {path}: ").strip()


def test_lists_that_unfold_from_a_few_kilobytes_are_refused(tmp_path: Path) -> None:
    """60 MiB of them would be more than a gigabyte."""
    lists = b'{"session_id": "S", "x": [' + b"[]," * (20 * 2**20) + b"[]]}"
    path = archive(tmp_path, {"session.json": lists})
    assert (
        refused(path)
        == "session.json: more than 4,000,000 values: too many for a session; nothing was written"
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as written:
        written.writestr("MANIFEST.json", lists)
    assert (
        refused(path)
        == "MANIFEST.json: more than 4,000,000 values: too many for a session; nothing was written"
    )


def test_a_large_json_file_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = archive(tmp_path, {"session.json": b"{}"}, **{"plan.json": {"bytes": 2**30, "sha256": "0" * 64}})
    assert "plan.json: 1,073,741,824 bytes: JSON may have 67,108,864 at most" in refused(path)


@pytest.mark.parametrize("name", ["\ud800/run.json", "é" * 250 + "/run.json"])
def test_a_name_that_no_folder_can_have_is_refused(tmp_path: Path, name: str) -> None:
    path = archive(tmp_path, {"session.json": b"{}"}, **{name: {"bytes": 1, "sha256": "0" * 64}})
    assert "is not a file of a session; nothing was written" in refused(path)


def test_a_member_without_a_name_is_refused(tmp_path: Path) -> None:
    path = archive(tmp_path, {"session.json": b"{}"})
    with zipfile.ZipFile(path, "a") as written:
        written.writestr(zipfile.ZipInfo(""), b"x")
    assert refused(path) == "a member has no name; nothing was written"


_END = "<4s4H2LH"
"""The last record of an archive, which gives the size and the start of its directory."""


def test_an_archive_of_a_million_empty_files_is_refused_before_they_are_listed(tmp_path: Path) -> None:
    path = tmp_path / "S.zip"
    members = (b"PK\x01\x02" + bytes(24) + struct.pack("<H", 1) + bytes(16) + b"x") * 10**6
    path.write_bytes(members + struct.pack(_END, b"PK\x05\x06", 0, 0, 0, 0, len(members), 0, 0))
    assert refused(path) == "more than 500,000 files: too many for a session; nothing was written"


def test_an_archive_with_a_directory_of_gigabytes_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "S.zip"
    with path.open("wb") as file:
        file.truncate(3 * 2**30)
        file.seek(0, 2)
        file.write(struct.pack(_END, b"PK\x05\x06", 0, 0, 0, 0, 3 * 2**30, 0, 0))
    assert (
        refused(path) == "3,221,225,472 bytes list its members: too many for a session; nothing was written"
    )
