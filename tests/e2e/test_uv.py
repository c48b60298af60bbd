"""ci/uv.sh on Pythons that refuse: the test takes every way in which the script installs uv."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SYSTEM_PYTHON = next(
    (
        f"/usr/bin/python3.{minor}"
        for minor in range(20, 10, -1)
        if Path(f"/usr/lib/python3.{minor}/EXTERNALLY-MANAGED").exists()
    ),
    str(Path(sys.base_prefix) / "bin" / "python3"),
)
"""A Python that refuses global installs, if there is one (Debian's does)."""

WAYS = {
    "venv": "",
    "target": "uv_by_venv() { return 1; };",
    "user": "uv_by_venv() { return 1; }; uv_by_target() { return 1; };",
}


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder with ci/ alone, as if freshly cloned, on a machine without uv."""
    shutil.copytree(ROOT / "ci", tmp_path / "clone" / "ci")
    return tmp_path / "clone"


def source_uv(clone: Path, script: str, path: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PATH": path, "HOME": str(clone.parent / "home")}
    command = ["/bin/bash", "-c", f"set -euo pipefail; . {clone}/ci/uv.sh; {script}"]
    return subprocess.run(command, env=env, cwd="/", capture_output=True, text=True, check=False)


@pytest.fixture
def path_without_uv(tmp_path: Path) -> str:
    """Link the programs that ci/uv.sh calls, and no others."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for program in ("dirname", "sort", "head", "tail", "mktemp", "mkdir", "rm"):
        found = shutil.which(program)
        assert found is not None
        (folder / program).symlink_to(found)
    return str(folder)


@pytest.mark.parametrize("way", WAYS)
def test_uv_is_brought_along_by_each_way_without_root(clone: Path, path_without_uv: str, way: str) -> None:
    script = f'python={SYSTEM_PYTHON}; {WAYS[way]} find_uv; "$uv" --version; echo "$uv"'
    result = source_uv(clone, script, path_without_uv)
    assert result.returncode == 0, result.stderr
    version, place = result.stdout.splitlines()
    assert version.startswith("uv ")
    home = {"user": clone.parent / "home" / ".local"}.get(way, clone / ".venv-uv")
    assert place == str(home / "bin" / "uv")


def test_the_folder_of_our_own_uv_is_ignored_by_git(clone: Path, path_without_uv: str) -> None:
    subprocess.run(["git", "init", "-q", str(clone)], check=True)
    result = source_uv(clone, f"python={SYSTEM_PYTHON}; {WAYS['target']} find_uv", path_without_uv)
    assert result.returncode == 0, result.stderr
    status = ["git", "-C", str(clone), "status", "--porcelain", "--untracked-files=all"]
    assert ".venv-uv" not in subprocess.run(status, capture_output=True, text=True, check=True).stdout


def test_where_no_way_leads_to_uv_the_last_words_are_a_remedy(clone: Path, path_without_uv: str) -> None:
    none = "uv_by_venv() { echo no ensurepip; return 1; }; uv_by_target() { return 1; }; uv_by_user() { return 1; };"
    result = source_uv(clone, f"python={SYSTEM_PYTHON}; {none} find_uv", path_without_uv)
    assert result.returncode == 2
    assert "no ensurepip" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("Install uv by hand")
    assert not (clone / ".venv-uv").exists()


def test_a_machine_without_a_new_enough_python_is_told_so(clone: Path, path_without_uv: str) -> None:
    old = Path(path_without_uv) / "python3"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    result = source_uv(clone, "find_python", path_without_uv)
    assert result.returncode == 2
    assert result.stderr.startswith("No Python 3.11 or newer on PATH: install one")


@pytest.mark.parametrize(
    ("version", "works"), [("0.4.30", False), ("0.7.0", True), ("0.13.8", True), ("1.0.0", True)]
)
def test_an_old_uv_is_not_used(clone: Path, path_without_uv: str, version: str, works: bool) -> None:
    uv = clone.parent / "uv"
    uv.write_text(f"#!/bin/sh\necho 'uv {version} (x86_64-unknown-linux-gnu)'\n")
    uv.chmod(0o755)
    result = source_uv(clone, f"uv_works {uv} && echo yes || echo no", path_without_uv)
    assert result.stdout == ("yes\n" if works else "no\n")


def test_results_as_an_argument_of_quickstart_is_refused_before_anything_is_made(clone: Path) -> None:
    command = [str(clone / "ci" / "quickstart"), "--results=elsewhere"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "set BENCH_RESULTS instead" in result.stderr
    assert [path.name for path in clone.iterdir()] == ["ci"]


def test_an_unknown_part_of_ci_test_is_refused_with_the_names_there_are(clone: Path) -> None:
    command = [str(clone / "ci" / "test"), "units"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert (
        result.stderr
        == "ci/test: no part units: there are lint types audit unit torch fuzz gpu e2e versions cluster tree\n"
    )
