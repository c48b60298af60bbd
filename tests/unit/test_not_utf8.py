"""Names of the system that are not UTF-8, as an old Latin-1 file system has them: one line, and nothing is written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ODD = os.fsdecode(b"r\xe9sultats")
CSV = "case,scaling,world_size,repeat,seconds,examples\nddp,strong,2,0,100,1000\n"


@pytest.fixture
def bench(tmp_path: Path):
    (tmp_path / ODD).mkdir()
    (tmp_path / "t.csv").write_text(CSV)

    def call(*words: str, cwd: Path = tmp_path, **variables: str):
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1", **variables}
        return subprocess.run(
            [sys.executable, "-m", "bench", *words],
            cwd=cwd,
            env=environment,
            capture_output=True,
            check=False,
        )

    return call


IMPORT = ("import", "t.csv", "--suite", "x", "--session", "s")


@pytest.mark.parametrize(
    ("words", "variables", "inside"),
    [
        ((*IMPORT, "--results", ODD), {}, False),
        ((*IMPORT,), {"BENCH_RESULTS": ODD}, False),
        ((*IMPORT, "--results", "plain"), {"TMPDIR": ODD}, False),
        (("import", "../t.csv", "--suite", "x"), {}, True),
        ((*IMPORT, "--title", ODD), {}, False),
        (("suite", "smoke", "--quick", "--results", ODD), {}, False),
        (("suite", f"./{ODD}.yaml", "--dry-run"), {}, False),
        (("run", "--world", "1", "--results", "../plain", "--", "true"), {}, True),
        (("load", ODD), {}, False),
        (("sessions", "--results", ODD), {}, False),
        (("sql", "--direct", "--results", ".", "SELECT 1"), {}, True),
        (("sql", "SELECT 'r\udce9'"), {}, False),
        (("report", "s", "--out", ODD), {}, False),
    ],
)
def test_it_ends_in_one_line_before_anything_is_written(bench, tmp_path, words, variables, inside):
    if "TMPDIR" in variables:
        variables = {"TMPDIR": str(tmp_path / ODD)}
    before = sorted(tmp_path.rglob("*"))
    done = bench(*words, cwd=tmp_path / ODD if inside else tmp_path, **variables)
    assert done.returncode == 2, done.stderr
    lines = done.stderr.decode().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("error: ")
    assert "not UTF-8" in lines[0]
    assert sorted(tmp_path.rglob("*")) == before
