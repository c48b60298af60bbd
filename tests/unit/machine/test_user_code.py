"""The user's repository, as git says, without running anything that the repository's configuration names."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.machine.user_code import UserCode, of_files
from tests.factory import Case, specs

SPEC = specs(Case(name="ddp", step_ms={2: 10.0}), "s", "smoke", [])[0]
IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@b")


def git(folder: Path, *arguments: str) -> str:
    command = ["git", *IDENTITY, "-C", folder, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A repository `project` with one commit: train/my_model.py and parts.py."""
    folder = tmp_path / "project"
    (folder / "train").mkdir(parents=True)
    (folder / "train/my_model.py").write_text("a = 1\n")
    (folder / "parts.py").write_text("b = 1\n")
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message=one")
    return folder


def found(top: Path) -> dict[str, str]:
    code = of_files([top / "train/my_model.py"])
    return dict(code.repository)


def head(top: Path) -> str:
    return git(top, "rev-parse", "HEAD")


def test_a_repository_is_known_by_its_folder_its_commit_and_whether_tracked_files_changed(top: Path) -> None:
    git(top, "remote", "add", "origin", "https://user:secret@example.org/hidden.git")
    assert found(top) == {"user_repository": "project", "user_commit": head(top)}
    (top / "results.txt").write_text("not tracked")
    assert found(top)["user_commit"] == head(top)
    (top / "parts.py").write_text("b = 2\n")
    assert found(top)["user_commit"] == f"{head(top)}, changed"
    git(top, "add", "parts.py")
    assert found(top)["user_commit"] == f"{head(top)}, changed"
    git(top, "commit", "--quiet", "--message=two")
    assert found(top)["user_commit"] == head(top)


def test_a_file_that_was_only_touched_is_not_changed(top: Path) -> None:
    (top / "parts.py").write_text("b = 1\n")
    assert found(top)["user_commit"] == head(top)


def test_before_the_first_commit_there_is_only_a_name(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    (tmp_path / "my_model.py").touch()
    code = of_files([tmp_path / "my_model.py"])
    assert code.repository == {"user_repository": tmp_path.name}


def test_without_git_nothing_is_said_and_the_files_folder_is_the_top(
    top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    file = top / "train/my_model.py"
    assert of_files([file]) == UserCode(top=top / "train", files=(file,))


def test_outside_of_a_repository_nothing_is_said(tmp_path: Path) -> None:
    (tmp_path / "my_model.py").touch()
    code = of_files([tmp_path / "my_model.py"])
    assert code == UserCode(top=tmp_path, files=(tmp_path / "my_model.py",))


def test_a_folder_that_git_refuses_is_not_read(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (top / ".git/config").write_text("[core\n")
    assert found(top) == {}
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")  # git's own tests use it
    git(top.parent, "init", "--quiet", "other")
    (top.parent / "other/train").mkdir()
    assert found(top.parent / "other") == {}


def test_a_repository_that_the_environment_names_is_not_the_files(
    top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(top, tmp_path / "hook")
    (tmp_path / "hook/parts.py").write_text("b = 2\n")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "hook/.git"))  # as in a hook
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path / "hook"))
    assert found(top)["user_repository"] == "project"
    assert "changed" not in found(top)["user_commit"]


def test_a_configuration_that_moves_the_work_tree_elsewhere_is_not_believed(top: Path) -> None:
    (top.parent / "elsewhere").mkdir()
    git(top, "config", "core.worktree", str(top.parent / "elsewhere"))
    assert found(top) == {}


def fsmonitor(top: Path, program: str) -> None:
    git(top, "config", "core.fsmonitor", program)


def hooks(top: Path, program: str) -> None:
    folder = top.parent / "hooks"
    folder.mkdir()
    for name in ("post-index-change", "reference-transaction", "fsmonitor-watchman"):
        shutil.copy(program, folder / name)
        shutil.copy(program, top / ".git/hooks" / name)
    git(top, "config", "core.hooksPath", str(folder))


def filters(top: Path, program: str) -> None:
    (top / ".gitattributes").write_text("*.py filter=one\n")
    (top / ".git/info/attributes").write_text("parts.py filter=two.Three\n")
    git(top, "config", "filter.one.clean", program)
    git(top, "config", "filter.one.required", "true")
    git(top, "config", "filter.two.Three.process", program)


def odd_filter(top: Path, program: str) -> None:
    (top / ".git/info/attributes").write_text("*.py filter=a=b\n")
    git(top, "config", "filter.a=b.clean", program)


def included(top: Path, program: str) -> None:
    (top / ".git/info/attributes").write_text("*.py filter=one\n")
    (top / ".git/more").write_text(f'[filter "one"]\n\tclean = {program}\n[core]\n\tfsmonitor = {program}\n')
    git(top, "config", "include.path", "more")


def drivers(top: Path, program: str) -> None:
    (top / ".git/info/attributes").write_text("*.py diff=one merge=one\n")
    for key in ("diff.external", "diff.one.textconv", "diff.one.command", "merge.one.driver", "core.pager"):
        git(top, "config", key, program)
    git(top, "config", "alias.status", f"!{program}")


def submodule(top: Path, program: str) -> None:
    inner = top / "inner"
    git(top, "init", "--quiet", "inner")
    (inner / "file.py").write_text("c = 1\n")
    git(inner, "add", ".")
    git(inner, "commit", "--quiet", "--message=inner")
    git(top, "add", "inner")
    git(top, "commit", "--quiet", "--message=with inner")
    fsmonitor(inner, program)
    (inner / "file.py").write_text("c = 2\n")


def promised(top: Path, program: str) -> None:
    """Objects are missing, and the remote that should have them is a program."""
    git(top, "config", "protocol.ext.allow", "always")
    git(top, "config", "protocol.allow", "always")
    git(top, "config", "remote.origin.url", f"ext::{program}")
    git(top, "config", "remote.origin.promisor", "true")
    git(top, "config", "extensions.partialClone", "origin")
    git(top, "config", "core.repositoryFormatVersion", "1")
    tree = git(top, "rev-parse", "HEAD^{tree}")
    (top / ".git/objects" / tree[:2] / tree[2:]).unlink()


@pytest.mark.parametrize(
    "hostile", [fsmonitor, hooks, filters, odd_filter, included, drivers, submodule, promised]
)
def test_no_program_that_a_repository_names_is_run(
    tmp_path: Path, top: Path, hostile: Callable[[Path, str], None]
) -> None:
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho $0 $* >>{tmp_path}/was_run\nexit 1\n")
    program.chmod(0o755)
    hostile(top, str(program))
    (tmp_path / "was_run").unlink(missing_ok=True)
    (top / "parts.py").write_text("b = 9\n")  # of the same length, so git compares the content
    os.utime(top / "train/my_model.py", (1, 1))  # unchanged, so git status writes its index, which has a hook
    said = found(top)
    assert not (tmp_path / "was_run").exists()
    assert said["user_commit"].partition(", ")[0] == head(top)
    assert said["user_commit"].partition(", ")[2] in ("changed", "changes unknown")
    git_itself = subprocess.run(
        ["git", "-C", top, "status", "--porcelain"], capture_output=True, check=False, timeout=60
    )
    assert git_itself.returncode in (0, 128)
    if hostile is not drivers:
        assert (tmp_path / "was_run").exists(), "the test's trap does not work"


def test_git_writes_nothing_into_the_repository(top: Path) -> None:
    (top / "parts.py").write_text("b = 1\n")  # git would refresh its index
    before = {path: path.stat().st_mtime_ns for path in (top / ".git").rglob("*")}
    found(top)
    assert {path: path.stat().st_mtime_ns for path in (top / ".git").rglob("*")} == before


def test_modules_below_the_top_are_named_by_their_path(top: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(top)
    (top / "linked.py").symlink_to(tmp_path / "far.py")
    code = of_files([tmp_path / "link/train/my_model.py"])
    modules = {
        str(tmp_path / "link/train/my_model.py"): "1",
        str(tmp_path / "link/parts.py"): "2",
        str(top / "a/b.py"): "3",
        str(top / "linked.py"): "4",
        str(top / "my_model.py"): "5",
        str(tmp_path / "far.py"): "6",
    }
    assert code.facts(modules) == {
        **found(top),
        "content of my_model.py": "1",
        "content of parts.py": "2",
        "content of a/b.py": "3",
        "content of linked.py": "4",
        "content of ./my_model.py": "5",
    }
