"""The copy in which a command with `isolate` runs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bench.command import working_copy
from bench.common.errors import InputError


def copied(source: Path, scratch: Path, results: Path | None = None) -> dict[str, str]:
    scratch.mkdir(parents=True)
    working_copy.make(source, scratch, results or source / "results")
    copy = scratch / working_copy.FOLDER
    return {str(path.relative_to(copy)): path.read_text() for path in copy.rglob("*") if path.is_file()}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    for name in ("train.py", "model/net.py", "data/big.bin", "results/s/session.json"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return folder


def test_all_files_but_the_results_are_copied(source: Path, tmp_path: Path) -> None:
    found = copied(source, tmp_path / "agent/run")
    assert found == {name: name for name in ("train.py", "model/net.py", "data/big.bin")}
    (tmp_path / "agent/run/work/train.py").write_text("changed")
    assert (source / "train.py").read_text() == "train.py"


def test_virtual_environments_are_left_out(source: Path, tmp_path: Path) -> None:
    for name in ("pyvenv.cfg", "lib/module.py"):
        path = source / "venv" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    assert set(copied(source, tmp_path / "agent/run")) == {"train.py", "model/net.py", "data/big.bin"}
    inside = copied(source / "venv", tmp_path / "agent/inner")  # the folder may itself be one
    assert set(inside) == {"pyvenv.cfg", "lib/module.py"}


def test_the_scratch_folder_may_be_inside(source: Path, tmp_path: Path) -> None:
    (source / "tmp").mkdir()
    (source / "tmp/other.raw").touch()
    found = copied(source, source / "tmp/run")
    assert set(found) == {"train.py", "model/net.py", "data/big.bin"}


def test_files_that_git_ignores_are_left_out(source: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(source)], check=True)
    (source / ".gitignore").write_text("data/\n")
    subprocess.run(["git", "-C", str(source), "add", "train.py"], check=True)
    found = copied(source, tmp_path / "agent/run")
    assert set(found) == {"train.py", "model/net.py", ".gitignore"}
    inner = copied(source / "model", tmp_path / "agent/inner")  # a folder inside of a repository
    assert set(inner) == {"net.py"}


def test_a_repository_inside_is_copied_too(source: Path, tmp_path: Path) -> None:
    for folder in (source / "model", source):
        subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    found = copied(source, tmp_path / "agent/run")
    assert {name for name in found if ".git/" not in name} == {"train.py", "model/net.py", "data/big.bin"}


def test_results_named_by_a_relative_path_are_left_out(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(source)
    assert "results/s/session.json" not in copied(source, tmp_path / "agent/run", Path("results"))


def test_links_lead_where_they_led(source: Path, tmp_path: Path) -> None:
    (source / "model/link.py").symlink_to("../train.py")
    (source / "elsewhere").symlink_to(tmp_path)
    copied(source, tmp_path / "agent/run")
    assert (tmp_path / "agent/run/work/model/link.py").resolve() == tmp_path / "agent/run/work/train.py"
    assert (tmp_path / "agent/run/work/elsewhere").resolve() == tmp_path


def test_a_folder_that_is_too_large_is_refused(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(working_copy, "LARGEST_BYTES", 10)
    with pytest.raises(InputError, match="keep data elsewhere or let git ignore them"):
        copied(source, tmp_path / "agent/run")


def test_a_file_that_is_tracked_and_gone_is_skipped(source: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(source)], check=True)
    subprocess.run(["git", "-C", str(source), "add", "."], check=True)
    (source / "model/net.py").unlink()
    assert "model/net.py" not in copied(source, tmp_path / "agent/run")
