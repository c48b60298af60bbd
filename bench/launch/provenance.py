"""Which code runs here: the image by its content, the commit, and a digest of what ranks execute.

An image's file is not seen from within it, and reading 3.5 GB for a digest takes 11 s; its labels, which Apptainer
writes into it with the second of the build, are seen and take no time. A checkout that is bound over the image leaves
them as they are, but not the digest of the code."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import bench
from bench.container import container_kind
from bench.files import digest

LABELS = Path("/.singularity.d/labels.json")
_RANKS_EXECUTE = ("data", "measure", "models", "strategies", "train", "workloads")
"""Folders of bench: what else there is plans, starts and watches."""
_REVISION = "org.opencontainers.image.revision"
_SHOWN = 12
"""Hexadecimal digits of a commit."""
_GIT_S = 5.0
"""A file system that needs longer for a look at some hundred files is not waited for."""


def facts() -> dict[str, str]:
    """What is known of `image`, `commit` and `training_code`."""
    found = {
        "image": image(LABELS),
        "commit": commit(Path(bench.__file__).parents[1], LABELS),
        "training_code": training_code(Path(bench.__file__).parent),
    }
    return {key: value for key, value in found.items() if value is not None}


def image(labels: Path) -> str | None:
    """`none` outside of a container; null in one that says nothing of its build, as Docker's and Podman's."""
    if container_kind() is None:
        return "none"
    return digest(labels.read_bytes()) if labels.is_file() else None


def training_code(package: Path) -> str:
    """Digest of the Python files that a rank's process executes, by their place in the package and content."""
    files = sorted(path for part in _RANKS_EXECUTE for path in (package / part).rglob("*.py"))
    parts = [f"{path.relative_to(package)}\0".encode() + path.read_bytes() for path in files]
    return digest(b"\0".join(parts))


def commit(root: Path, labels: Path) -> str | None:
    """Of the checkout at `root`, with `, changed` where tracked files are; else of the image whose code this is."""
    if (root / ".git").exists():
        return _described(root) or _head(root)
    if not root.is_relative_to("/opt/scalebench") or not labels.is_file():
        return None
    revision = str(json.loads(labels.read_bytes()).get(_REVISION, "unknown"))
    return None if revision == "unknown" else revision[:_SHOWN] + ", changed" * revision.endswith("-dirty")


def _described(root: Path) -> str | None:
    """Null where there is no git, as in the image, or where it does not trust the folder."""
    describe = ["describe", "--always", "--exclude=*", f"--abbrev={_SHOWN}", "--dirty=, changed"]
    try:
        done = subprocess.run(
            ["git", "-C", root, *describe], capture_output=True, text=True, timeout=_GIT_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _head(root: Path) -> str | None:
    """As git keeps it; whether files are changed is then not known."""
    try:
        head = (root / ".git/HEAD").read_text().strip()
        name = head.removeprefix("ref: ")
        found = head if name == head else (root / ".git" / name).read_text().strip()
    except OSError:  # of a linked worktree, or packed
        return None
    return f"{found[:_SHOWN]}, changes unknown"
