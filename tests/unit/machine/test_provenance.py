"""The identity of the running code, from the image's record of its build, from git, and from the files' content."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import bench
from bench.machine import provenance


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with one commit of one file."""
    (tmp_path / "file.py").write_text("a = 1\n")
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    git(tmp_path, "add", "file.py")
    git(tmp_path, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message=one")
    return tmp_path


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", folder, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    path = tmp_path / "labels.json"
    built = {"org.label-schema.build-date": "Saturday_21_November_2026_16:27:39_UTC"}
    path.write_text(json.dumps(built | {"org.opencontainers.image.revision": "760ac7de9317e5c056c6-dirty"}))
    return path


def test_a_checkout_is_known_by_its_commit_and_whether_files_were_changed(checkout: Path) -> None:
    head = git(checkout, "rev-parse", "HEAD")[:12]
    nowhere = Path("/nowhere")
    assert provenance.commit(checkout, nowhere) == head
    (checkout / "notes.txt").write_text("not tracked")
    assert provenance.commit(checkout, nowhere) == head
    (checkout / "file.py").write_text("a = 2\n")
    assert provenance.commit(checkout, nowhere) == f"{head}, changed"


def test_without_git_the_commit_is_known_and_changes_are_not(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = git(checkout, "rev-parse", "HEAD")[:12]
    monkeypatch.setenv("PATH", "/nowhere")
    assert provenance.commit(checkout, Path("/nowhere")) == f"{head}, changes unknown"
    git_folder = checkout / ".git"
    (git_folder / "refs/heads/main").unlink()  # as packed
    assert provenance.commit(checkout, Path("/nowhere")) is None


def test_the_images_own_code_has_the_commit_of_its_label(labels: Path) -> None:
    inside = Path("/opt/scalebench/.venv/lib/python3.11/site-packages")
    assert provenance.commit(inside, labels) == "760ac7de9317, changed"
    assert provenance.commit(Path("/usr/lib/python3"), labels) is None


def test_code_bound_over_an_image_is_not_taken_for_the_images(checkout: Path, labels: Path) -> None:
    assert provenance.commit(checkout, labels) == git(checkout, "rev-parse", "HEAD")[:12]


def test_an_image_is_known_by_its_labels_whatever_it_is_called(
    labels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for name in ("/a/bench.sif", "/b/other.sif"):
        monkeypatch.setenv("APPTAINER_CONTAINER", name)
        found.append(provenance.image(labels))
    assert found[0] == found[1] is not None
    labels.write_text(labels.read_text().replace("16:27:39", "16:27:40"))
    assert provenance.image(labels) != found[0]
    assert provenance.image(Path("/nowhere")) is None


def test_the_training_code_is_known_by_what_ranks_execute_and_by_nothing_else(tmp_path: Path) -> None:
    shutil.copytree(Path(bench.__file__).parent, tmp_path / "bench")
    before = provenance.training_code(tmp_path / "bench")
    assert before == provenance.facts()["training_code"]
    for name, matters in (("cli/list.py", False), ("agent/ranks.py", False), ("train/loop.py", True)):
        file = tmp_path / "bench" / name
        file.write_text(file.read_text() + "# changed\n")
        assert (provenance.training_code(tmp_path / "bench") != before) is matters, name
