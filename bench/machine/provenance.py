"""Which code runs here: the image, the commit, and a digest of the code that ranks execute.

The image is identified by its labels, into which Apptainer writes the second of the build. Its file is not visible from
within, and reading 3.5 GB for a digest would take 11 s. A checkout that is bound over the image's code does not change
the labels, but it changes the digest of the code."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import bench
from bench.common.files import digest
from bench.machine.container import container_kind

LABELS = Path("/.singularity.d/labels.json")
_RANKS_EXECUTE = ("data", "measure", "models", "strategies", "train", "workloads")
"""Folders of bench that ranks execute; the others plan, start and watch."""
_REVISION = "org.opencontainers.image.revision"
_SHOWN = 12
"""Hexadecimal digits of a commit that are kept."""
_GIT_S = 5.0
"""Longest wait for git, for slow file systems."""


def facts() -> dict[str, str]:
    """The facts `image`, `commit` and `training_code`, as far as they are known."""
    found = {
        "image": image(LABELS),
        "commit": commit(Path(bench.__file__).parents[1], LABELS),
        "training_code": training_code(Path(bench.__file__).parent),
    }
    return {key: value for key, value in found.items() if value is not None}


def image(labels: Path) -> str | None:
    """Digest of an Apptainer image's labels; `none` outside of a container; null without labels (Docker, Podman)."""
    if container_kind() is None:
        return "none"
    return digest(labels.read_bytes()) if labels.is_file() else None


def training_code(package: Path) -> str:
    """Digest of the Python files that a rank's process executes: their paths in the package and their content."""
    files = sorted(path for part in _RANKS_EXECUTE for path in (package / part).rglob("*.py"))
    parts = [f"{path.relative_to(package)}\0".encode() + path.read_bytes() for path in files]
    return digest(b"\0".join(parts))


def commit(root: Path, labels: Path) -> str | None:
    """Commit of the checkout at `root`, with `, changed` if tracked files are changed; else of the image; else null."""
    if (root / ".git").exists():
        return _described(root) or _head(root)
    if not root.is_relative_to("/opt/scalebench") or not labels.is_file():
        return None
    revision = str(json.loads(labels.read_bytes()).get(_REVISION, "unknown"))
    return None if revision == "unknown" else revision[:_SHOWN] + ", changed" * revision.endswith("-dirty")


def _described(root: Path) -> str | None:
    """The commit by git; null without git, as in the image, or if git does not trust the folder."""
    describe = ["describe", "--always", "--exclude=*", f"--abbrev={_SHOWN}", "--dirty=, changed"]
    try:
        done = subprocess.run(
            ["git", "-C", root, *describe], capture_output=True, text=True, timeout=_GIT_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _head(root: Path) -> str | None:
    """The commit by the files in .git, which do not say whether tracked files are changed."""
    try:
        head = (root / ".git/HEAD").read_text().strip()
        name = head.removeprefix("ref: ")
        found = head if name == head else (root / ".git" / name).read_text().strip()
    except OSError:  # a linked worktree, or packed refs
        return None
    return f"{found[:_SHOWN]}, changes unknown"
