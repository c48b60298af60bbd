"""bench import as a user runs it: a published table becomes a session that every other command reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from documents import ROOT
from processes import OneProcess

TABLE = ROOT / "docs/examples/published_table.txt"


@pytest.fixture(scope="module")
def results(
    tmp_path_factory: pytest.TempPathFactory, one_process: OneProcess
) -> tuple[OneProcess, Path, str]:
    folder = tmp_path_factory.mktemp("import")
    where = ("--results", str(folder / "r"))
    done = one_process.run(
        "import", str(TABLE), "--suite", "mpcdf-raven", "--strategy", "ddp", "--session", "S", *where
    )
    assert (done.returncode, done.stderr) == (0, "")
    return one_process, folder / "r", done.stdout


def test_it_prints_what_the_page_shows(results: tuple[OneProcess, Path, str]) -> None:
    page = (ROOT / "docs/import.md").read_text(encoding="utf-8")
    shown = {" ".join(line.split()) for line in page.splitlines()}
    lines = [" ".join(line.split()) for line in results[2].splitlines()]
    assert [line for line in lines[2:7] if line not in shown] == []
    assert [line for line in lines if "speedup" in line and line not in shown and line not in lines[:7]] == []
    assert lines[7].partition(" from ")[2] in page


def test_its_speedups_are_those_of_the_publication(results: tuple[OneProcess, Path, str]) -> None:
    one_process, folder, _ = results
    query = "SELECT workers, round(speedup, 2) AS s, round(100 * efficiency, 1) AS e FROM scaling ORDER BY workers"
    done = one_process.run("sql", query, "--results", str(folder), "--format", "json")
    assert [tuple(row.values()) for row in json.loads(done.stdout)] == [
        (1, 1.0, 100.0), (4, 3.81, 95.2), (8, 6.34, 79.3),
    ]  # fmt: skip


def test_the_summary_says_it_again(results: tuple[OneProcess, Path, str]) -> None:
    one_process, folder, printed = results
    done = one_process.run("summary", "S", "--results", str(folder))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == printed.splitlines()[1:-2]


def test_a_report_and_every_export_can_be_made_of_it(
    results: tuple[OneProcess, Path, str], tmp_path: Path
) -> None:
    one_process, folder, _ = results
    done = one_process.run("report", "S", "--results", str(folder), "--out", str(tmp_path / "public"))
    assert (done.returncode, done.stderr) == (0, "")
    for form in ("csv", "json", "markdown", "latex"):
        done = one_process.run("export", "S", "--format", form, "--results", str(folder))
        assert (done.returncode, done.stderr) == (0, "")
        assert "trainings/s" in done.stdout


def test_what_is_wrong_is_said_in_lines_and_exit_2(
    results: tuple[OneProcess, Path, str], tmp_path: Path
) -> None:
    one_process, folder, _ = results
    bad = tmp_path / "bad.csv"
    bad.write_text('case,scaling,world_size,repeat,seconds,examples\nddp,strong,4,0,"1,234.5",0\n')
    before = sorted(folder.rglob("*"))
    done = one_process.run("import", str(bad), "--suite", "s", "--results", str(folder))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        "error: bad.csv: 2 problems, nothing was imported:",
        "  line 2, column seconds: '1,234.5' has a separator between thousands: write 1234.5",
        "  line 2, column examples: 0 is not within 1 and 9,007,199,254,740,992",
    ]
    assert sorted(folder.rglob("*")) == before


def test_a_resume_is_refused_with_what_it_is(results: tuple[OneProcess, Path, str]) -> None:
    one_process, folder, _ = results
    done = one_process.run("suite", "--resume", "S", "--results", str(folder))
    assert done.returncode == 2
    assert done.stderr.startswith(
        "error: session S was imported from published_table.txt: it has no runs to resume"
    )
