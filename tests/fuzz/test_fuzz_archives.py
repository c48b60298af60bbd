"""Any archive gives its whole session, or one error that names it; nothing is written outside the results folder."""

from __future__ import annotations

import functools
import hashlib
import io
import json
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bench.common.errors import InputError
from bench.packing.unpack import unpack
from tests.fuzz.limits import ends
from tests.fuzz.mutation import mutated

FILES = {
    "session.json": b'{"session_id": "S"}',
    "plan.json": b'{"runs": []}',
    "a.1x1.r0/run.json": b"{}",
    "a.1x1.r0/steps.node0.parquet": b"PAR1" * 40,
    "a.1x1.r0/attempt0/rank0.log": b"said\n" * 9,
}
NAMES = st.sampled_from(
    [*FILES, "../out.json", "/tmp/out.json", "C:\\out.json", "a/../../run.json", "a.1x1.r0/", "SESSION.JSON",
    "MANIFEST.json",
     "a.1x1.r0/run.json/x.log", "session.json/run.json", ".hidden/run.json", "a\0b/run.json",
    "x" * 300 + "/run.json",
     "a.1x1.r0\\run.json", "a.1x1.r0/attempt0/../../../run.json", "report.html", "A.1x1.r0/run.json", ""]
)  # fmt: skip
MODES = st.sampled_from([0, 0o100644, 0o120777, 0o040755, 0o010644, 0o020644, 0o104755])


def _listed(content: bytes) -> dict[str, Any]:
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


MANIFEST = {
    "format": 1,
    "session_id": "S",
    "files": {name: _listed(content) for name, content in FILES.items()},
}


def packed(manifest: Any, members: list[tuple[str, bytes, int]]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content, mode in [("MANIFEST.json", json.dumps(manifest).encode(), 0), *members]:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            archive.writestr(info, content)
    return out.getvalue()


@functools.cache
def sound() -> bytes:
    return packed(MANIFEST, [(name, content, 0o100644) for name, content in FILES.items()])


def take_in(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        inside = Path(folder) / "inside"
        inside.mkdir()
        archive, results = inside / "a.zip", inside / "results"
        archive.write_bytes(content)
        made, refusal = None, ""
        try:
            with ends():
                (made,) = unpack([archive], results)
        except InputError as error:
            refusal = str(error)
        if made is None:
            assert str(archive) in refusal or "exists in" in refusal
            assert not results.exists() or not list(results.iterdir())
        else:
            assert list(results.iterdir()) == [made]
            assert not any(path.is_symlink() for path in made.glob("**/*"))
        assert [path.name for path in Path(folder).iterdir()] == ["inside"]
        assert {path.name for path in inside.iterdir()} <= {"a.zip", "results"}


@settings(max_examples=120)
@given(
    st.one_of(st.just(MANIFEST), mutated(MANIFEST)),
    st.lists(st.tuples(NAMES, st.sampled_from([*FILES.values(), b""]), MODES), max_size=3),
    st.booleans(),
)
def test_an_archive_with_odd_members_is_unpacked_or_refused(
    manifest: Any, odd: list[tuple[str, bytes, int]], lists: bool
) -> None:
    members = [(name, content, 0o100644) for name, content in FILES.items()] + odd
    if lists and isinstance(manifest, dict) and isinstance(manifest.get("files"), dict):
        more = {name: _listed(content) for name, content, _ in odd}
        manifest = manifest | {"files": manifest["files"] | more}
    take_in(packed(manifest, members))


@settings(max_examples=200)
@given(st.data())
def test_a_sound_archive_with_odd_bytes_is_unpacked_or_refused(data: st.DataObject) -> None:
    content = bytearray(sound())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(content) - 1))
        put = data.draw(st.binary(min_size=1, max_size=8))
        content[place : place + len(put)] = put
    take_in(bytes(content[: data.draw(st.sampled_from([len(content), len(content), len(content) // 2]))]))
