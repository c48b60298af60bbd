"""Free space and permissions of the results folder, and of the temporary folder, which holds step recorders."""

from __future__ import annotations

from bench.doctor.facts import Facts, Folder
from bench.doctor.finding import Verdict, Verdicts, fail, ok, warn

_LEAST_BYTES = 100 * 10**6
_ROOMY_BYTES = 2 * 10**9
_SHARED = ("nfs", "lustre", "gpfs", "beegfs", "ceph", "fuse.sshfs", "cifs", "smb", "9p", "panfs", "wekafs")
"""Prefixes of the names of network file systems."""


def check(facts: Facts) -> Verdicts:
    yield _judge("results", facts.results, "choose another folder: --results DIR or BENCH_RESULTS")
    temporary = facts.temporary
    remedy = "set TMPDIR to a folder on this node's own disk"
    yield _judge("temporary", temporary, remedy)
    wanted = facts.environment.get("TMPDIR")
    if temporary.writable and wanted and wanted.rstrip("/") != temporary.path.rstrip("/"):
        yield warn(f"TMPDIR={wanted} cannot be written: {temporary.path} is used instead", remedy)
    if temporary.file_system.startswith(_SHARED):
        yield warn(
            f"temporary folder {temporary.path} is on {temporary.file_system}: step recorders would wait for a network",
            remedy,
        )


def _judge(what: str, folder: Folder, remedy: str) -> Verdict:
    if not folder.writable:
        return fail(f"{what} folder {folder.path} cannot be written", remedy)
    text = f"{what} folder {folder.path}: {folder.free_bytes / 2**30:.1f} GiB free on {folder.file_system}"
    if folder.free_bytes < _LEAST_BYTES:
        return fail(text, f"free space, or {remedy}")
    return warn(text, f"free space, or {remedy}") if folder.free_bytes < _ROOMY_BYTES else ok(text)
