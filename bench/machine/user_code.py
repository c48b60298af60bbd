"""The user's own code: the git repository of the files that a suite names, and the digests of the modules imported from
it.

Only git says what a repository is: it refuses folders that someone else owns. A repository's configuration can name
programs for git to run, so every call here turns these off: the monitor, hooks, filters and all transports."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_GIT_S = 5.0
"""Longest wait for one call of git, for large repositories on slow file systems."""
_OFF = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "safe.bareRepository=explicit",  # nor a folder that only looks like the inside of .git
)
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",  # reads only: the index is not refreshed, so no hook runs after that
    "GIT_NO_LAZY_FETCH": "1",  # git 2.45 or newer; for older ones no protocol is allowed
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_TERMINAL_PROMPT": "0",
}
_OTHER_REPOSITORY = {
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_DIR", "GIT_INDEX_FILE", "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_SHALLOW_FILE", "GIT_WORK_TREE",
}  # fmt: skip
"""Variables that name another repository than the folder's, such as those of a git hook that starts `bench`."""


@dataclass(frozen=True, kw_only=True)
class UserCode:
    """Where the code of the suite's files is."""

    top: Path
    """Folder below which modules are the user's: the top of the repository; without git the folder of the first
    file."""
    files: tuple[Path, ...]
    """The files that the suite names."""
    repository: Mapping[str, str] = field(default_factory=dict)
    """`user_repository`, the name of its top folder, and `user_commit`; empty without git or a repository."""

    def facts(self, modules: Mapping[str, str]) -> dict[str, str]:
        """Keys of the fingerprint. `modules`: path and digest of each module that rank 0 imported (user_modules)."""
        names = {path: self._name(Path(path)) for path in sorted(modules)}
        contents = {f"content of {name}": modules[path] for path, name in names.items() if name is not None}
        return {**self.repository, **contents}

    def _name(self, path: Path) -> str | None:
        """The path below the top, null if it is elsewhere; of a file that the suite names only its name."""
        for file in self.files:
            if path.resolve() == file.resolve():
                return file.name
        for one in (path, path.parent.resolve() / path.name):  # a link to a file counts where the link is
            if one.is_relative_to(self.top):
                name = str(one.relative_to(self.top))
                return f"./{name}" if any(name == file.name for file in self.files) else name
        return None


def of_files(files: Sequence[Path]) -> UserCode:
    """The code of the user's files, in the repository of the first one. The commit is git's at this moment; digests are
    made by each run."""
    folder = files[0].resolve().parent
    shown = _git(folder, "rev-parse", "--show-toplevel")
    top = Path(shown) if shown else folder
    if not shown or not folder.is_relative_to(top):  # core.worktree may name any folder
        return UserCode(top=folder, files=tuple(files))
    facts = {"user_repository": top.name, "user_commit": _commit(top)}
    known = {key: value for key, value in facts.items() if value}
    return UserCode(top=top, files=tuple(files), repository=known)


def _commit(top: Path) -> str:
    """The whole hash, with `, changed` if tracked files are changed; empty before the first commit."""
    head = _git(top, "rev-parse", "--verify", "--quiet", "HEAD")
    if not head:
        return ""
    status = ["status", "--porcelain", "--untracked-files=no", "--no-renames", "--ignore-submodules=dirty"]
    filters = _filters(top)
    changes = None if filters is None else _git(top, *status, off=filters)
    if changes is None:
        return f"{head}, changes unknown"
    return f"{head}, changed" if changes else head


def _filters(top: Path) -> list[str] | None:
    """Settings that turn off each filter: a file that git compares by its content would go through a program.

    Null if a filter's name does not fit into an argument, or git does not answer."""
    names = _git(top, "config", "--null", "--name-only", "--get-regexp", r"^filter\.", allowed=(0, 1))
    keys = [key for key in (names or "").split("\0") if key]
    if names is None or not all(re.fullmatch(r"filter\.[\w.-]+", key) for key in keys):
        return None
    return [f"{key}=" for key in dict.fromkeys(keys)]


def _git(
    folder: Path, *arguments: str, off: Sequence[str] = (), allowed: tuple[int, ...] = (0,)
) -> str | None:
    """The output of git about a folder; null without git, if it refuses the folder, or if it takes too long."""
    settings = [part for setting in (*_OFF, *off) for part in ("-c", setting)]
    kept = {name: value for name, value in os.environ.items() if name not in _OTHER_REPOSITORY}
    try:
        done = subprocess.run(
            ["git", *settings, "-C", folder, *arguments],
            stdin=subprocess.DEVNULL, capture_output=True, env=kept | _ENVIRONMENT, timeout=_GIT_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return os.fsdecode(done.stdout).removesuffix("\n") if done.returncode in allowed else None
