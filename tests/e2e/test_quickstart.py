"""ci/quickstart from a fresh clone, twice, as a newcomer runs it, except for its repeats: from another folder, with the
real suite."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A clone of the commit; the test removes it with its environment of several GB."""
    folder = tmp_path_factory.mktemp("quickstart") / "scale bench"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    yield folder
    shutil.rmtree(folder)


def quickstart(clone: Path, cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if name != "BENCH_RESULTS"}
    command = [str(clone / "ci" / "quickstart"), *arguments]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def first(clone: Path) -> subprocess.CompletedProcess[str]:
    return quickstart(clone, clone.parent, "--repeats", "1")


@pytest.fixture(scope="module")
def second(clone: Path, first: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    return quickstart(clone, clone, "--quick", "--case", "single", "--repeats", "1")


def ask(clone: Path, query: str) -> list[dict[str, Any]]:
    command = [".venv/bin/bench", "sql", query, "--format", "json"]
    answer = subprocess.run(command, cwd=clone, capture_output=True, text=True, check=True).stdout
    rows: list[dict[str, Any]] = json.loads(answer)
    return rows


def test_every_run_of_the_first_session_is_ok(clone: Path, first: subprocess.CompletedProcess[str]) -> None:
    assert first.returncode == 0, first.stderr
    rows = ask(clone, "SELECT status, count(*) AS runs FROM runs GROUP BY status ORDER BY status")
    assert {row["status"] for row in rows} <= {"ok", "skipped"}
    strategies = ask(clone, "SELECT DISTINCT strategy FROM runs WHERE status = 'ok' ORDER BY 1")
    assert [row["strategy"] for row in strategies] == ["ddp", "fsdp", "single"]


def test_it_ends_with_the_table_and_where_report_and_results_are(
    clone: Path, first: subprocess.CompletedProcess[str]
) -> None:
    assert "ddp_strong" in first.stdout
    # relative to the folder above the clone, where it was called
    assert f"report   {clone.name}/public/index.html\n" in first.stdout
    assert f"results  {clone.name}/results\n" in first.stdout


def test_the_printed_query_works_as_it_stands(clone: Path, first: subprocess.CompletedProcess[str]) -> None:
    query = next(line for line in first.stdout.splitlines() if line.startswith("query"))
    result = subprocess.run(
        ["bash", "-c", query.removeprefix("query")],
        cwd=clone.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert "efficiency" in result.stdout


def test_the_report_is_a_file_per_session_and_an_index(
    clone: Path, first: subprocess.CompletedProcess[str]
) -> None:
    sessions = [path.name for path in (clone / "results").iterdir() if path.is_dir()]
    assert len(sessions) == 1
    pages = {path.name for path in (clone / "public").glob("*.html")}
    assert {"index.html", f"{sessions[0]}.html"} <= pages


def test_the_second_time_adds_a_session_and_leaves_the_first(
    clone: Path, second: subprocess.CompletedProcess[str]
) -> None:
    assert second.returncode == 0, second.stderr
    rows = ask(clone, "SELECT session_id, count(DISTINCT repeat) AS repeats FROM runs GROUP BY 1 ORDER BY 1")
    assert [row["repeats"] for row in rows] == [1, 1]


def test_nothing_is_left_in_the_checkout_that_git_would_add(
    clone: Path, second: subprocess.CompletedProcess[str]
) -> None:
    status = ["git", "-C", str(clone), "status", "--porcelain"]
    assert subprocess.run(status, capture_output=True, text=True, check=True).stdout == ""
