"""A launcher that a command starts does not run; other processes do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from bench.command.rank import PROBE_FOLDER


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "train.py").write_text("open('trained', 'w').close()\n")
    # a copy, because its first line names this Python
    launcher = tmp_path / "bin" / "torchrun"
    launcher.parent.mkdir()
    launcher.write_text(f"#!{sys.executable}\nopen('launched', 'w').close()\n")
    launcher.chmod(0o755)
    path = os.pathsep.join([str(launcher.parent), str(Path(sys.executable).parent), os.environ["PATH"]])
    found = {**os.environ, "PATH": path, "PYTHONPATH": str(PROBE_FOLDER), "CHANGED": "before"}
    variables = {name: zlib.crc32(value.encode()) for name, value in found.items()}
    job = {"scratch": str(tmp_path), "rank": 3, "variables": variables}
    return {**found, "BENCH_PROBE": json.dumps(job)}


def start(folder: Path, environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd=folder, env=environment, text=True, capture_output=True, check=False)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "torchrun --nproc_per_node 2 train.py",
            ["{folder}/bin/torchrun", "--nproc_per_node", "2", "train.py"],
        ),
        (
            "exec python -u -m torch.distributed.run train.py",
            ["-u", "-m", "torch.distributed.run", "train.py"],
        ),
        ("python -m accelerate.commands.launch train.py", ["-m", "accelerate.commands.launch", "train.py"]),
    ],
)
def test_a_launcher_in_a_script_leaves_its_words_and_ends(
    tmp_path: Path, environment: dict[str, str], line: str, words: list[str]
) -> None:
    done = start(tmp_path, environment, "bash", "-c", f"export MINE=1 CHANGED=2; cd .; {line}")
    assert done.returncode == 2
    assert "was not started, because bench starts the ranks" in done.stderr
    facts = json.loads((tmp_path / "launcher.json").read_text())
    assert facts["words"] == ["python", *(word.format(folder=tmp_path) for word in words)]
    assert (facts["cwd"], facts["rank"]) == (str(tmp_path), 3)
    assert sorted(facts["variables"]) == ["CHANGED", "MINE"]
    assert not {"launched", "trained"} & {path.name for path in tmp_path.iterdir()}
    assert list(tmp_path.glob("*.tmp")) == []


@pytest.mark.parametrize(
    "line",
    [
        "python train.py torchrun x.py",
        "python -c 'import train' torchrun x.py",
        "python -m train torchrun x.py",
    ],
)
def test_a_script_may_have_the_name_of_a_launcher_among_its_arguments(
    tmp_path: Path, environment: dict[str, str], line: str
) -> None:
    done = start(tmp_path, environment, "bash", "-c", line)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "trained").exists()
    assert not (tmp_path / "launcher.json").exists()


def test_without_bench_a_launcher_runs(tmp_path: Path, environment: dict[str, str]) -> None:
    del environment["BENCH_PROBE"]
    assert start(tmp_path, environment, "torchrun", "train.py").returncode == 0
    assert (tmp_path / "launched").exists()


def test_a_folder_that_is_gone_stops_no_script(tmp_path: Path, environment: dict[str, str]) -> None:
    environment["BENCH_PROBE"] = json.dumps({"scratch": str(tmp_path / "gone"), "rank": 0})
    done = start(tmp_path, environment, "torchrun", "train.py")
    assert (done.returncode, done.stderr) == (0, "")
