"""Archives that would fill memory, and names that no folder can have: refused, and nothing is written."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

_MEMORY_BYTES = 4 * 2**30
"""Of addresses, which torch's libraries take most of; what is refused would take as much again."""


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
    """What `bench load` says of it, within bounded memory."""
    program = (
        f"import resource, runpy; resource.setrlimit(resource.RLIMIT_AS, ({_MEMORY_BYTES}, {_MEMORY_BYTES}));"
        "runpy.run_module('bench', run_name='__main__')"
    )
    command = [sys.executable, "-c", program, "load", str(path), "--results", str(path.parent / "results")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    results = path.parent / "results"
    assert not results.exists() or not list(results.iterdir())
    return done.stderr.removeprefix(f"bench: {path}: ").strip()


def test_lists_that_unfold_from_a_few_kilobytes_are_refused(tmp_path: Path) -> None:
    """60 MiB of them would be more than a gigabyte."""
    lists = b'{"session_id": "S", "x": [' + b"[]," * (20 * 2**20) + b"[]]}"
    path = archive(tmp_path, {"session.json": lists})
    assert refused(path) == "session.json: more than 4,000,000 values: no session has; nothing was written"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as written:
        written.writestr("MANIFEST.json", lists)
    assert refused(path) == "MANIFEST.json: more than 4,000,000 values: no session has; nothing was written"


def test_a_large_json_file_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = archive(tmp_path, {"session.json": b"{}"}, **{"plan.json": {"bytes": 2**30, "sha256": "0" * 64}})
    assert "plan.json: 1,073,741,824 bytes: JSON of ours has 67,108,864 at most" in refused(path)


@pytest.mark.parametrize("name", ["\ud800/run.json", "é" * 250 + "/run.json"])
def test_a_name_that_no_folder_can_have_is_refused(tmp_path: Path, name: str) -> None:
    path = archive(tmp_path, {"session.json": b"{}"}, **{name: {"bytes": 1, "sha256": "0" * 64}})
    assert "is no file of a session; nothing was written" in refused(path)
