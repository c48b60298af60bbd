"""ci/gpu on a machine without a GPU; only a machine with one can test the rest."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "ci" / "gpu"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHON": sys.executable, "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.run([PROGRAM, *arguments], env=environment, capture_output=True, text=True, check=False)


def test_without_a_gpu_it_says_so_and_leaves_nothing(tmp_path: Path) -> None:
    done = run("--out", str(tmp_path / "gpu"), "doctor")
    assert done.returncode == 2
    assert "torch sees no GPU here" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_part_that_is_none_is_refused_with_those_there_are() -> None:
    done = run("doktor")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no part doktor: there are doctor tests session" in done.stderr


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_is_its_head(option: str) -> None:
    done = run(option)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Run every check that needs a GPU")
    assert done.stdout.endswith("1 a part failed, 2 no GPU here.\n")


def test_shellcheck_finds_nothing(require_program: Callable[[str], str]) -> None:
    done = subprocess.run(
        [require_program("shellcheck"), PROGRAM], capture_output=True, text=True, check=False
    )
    assert done.stdout == ""


def test_after_eight_minutes_parts_run_out_of_time_but_report_and_pack(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\ncase "$*" in *doctor*) exec sleep 30 ;; esac\n')
    python.chmod(0o755)
    environment = os.environ | {"PYTHON": str(python), "SECONDS": "480"}
    command = [PROGRAM, "--out", str(tmp_path / "gpu"), "doctor", "report"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert re.search(r"^doctor +\d s  out of time$", done.stdout, re.MULTILINE)
    assert re.search(r"^report +\d s  passed$", done.stdout, re.MULTILINE)
