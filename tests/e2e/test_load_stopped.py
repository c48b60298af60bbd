"""A load is killed half-way or meets another: the database is unchanged, and the next load has every row."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import duckdb
import pytest
from processes import Marked

from tests.factory import Case, make_session

CASE = Case(name="ddp", step_ms={1: 4.0, 2: 2.0}, repeats=2)
ROWS = 72
PUBLISHED = Path(__file__).parents[2] / "docs/examples/published_table.txt"


def rows(results: Path) -> dict[str, int]:
    """Step rows in the database, by session."""
    with duckdb.connect(str(results / "results.duckdb"), read_only=True) as connection:
        return dict(connection.execute("SELECT session_id, count(*) FROM steps GROUP BY ALL").fetchall())


def writing(marked: Marked, results: Path) -> subprocess.Popen[str]:
    """A load that has the database open."""
    process = marked.start("load", str(results))
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        if _may_write(process.pid, results / "results.duckdb"):
            return process
        time.sleep(0.002)
    raise AssertionError(process.communicate())


def _may_write(pid: int, path: Path) -> bool:
    """Whether the process has the file open for writing; a load reads it first."""
    try:
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            if entry.readlink() == path:
                flags = Path(f"/proc/{pid}/fdinfo/{entry.name}").read_text().split("flags:")[1].split()[0]
                return bool(int(flags, 8) & os.O_RDWR)
    except OSError:  # closed meanwhile
        pass
    return False


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder with one session in the database and another that is not."""
    folder = tmp_path_factory.mktemp("loaded") / "results"
    make_session(folder, [CASE], session_id="a")
    assert Marked(folder.parent).run("load", str(folder)).returncode == 0
    make_session(folder, [CASE], session_id="b")
    return folder


@pytest.fixture
def results(tmp_path: Path, loaded: Path) -> Path:
    """A copy of it for one test."""
    return shutil.copytree(loaded, tmp_path / "results")


def test_a_load_that_is_killed_changes_nothing_and_the_next_one_has_every_row(
    tmp_path: Path, results: Path
) -> None:
    marked = Marked(tmp_path)
    for number, code in ((signal.SIGKILL, -9), (signal.SIGTERM, -15), (signal.SIGINT, 130)):
        process = writing(marked, results)
        process.send_signal(number)
        out, errors = process.communicate(timeout=60)
        assert (process.returncode, out) == (code, "")
        assert "Traceback" not in errors
        assert ("bench: stopped" in errors) == (number is signal.SIGINT)
        assert rows(results) == {"a": ROWS}
    done = marked.run("load", str(results))
    assert (done.returncode, done.stdout.splitlines()[1]) == (0, "1 unchanged session")
    assert rows(results) == {"a": ROWS, "b": ROWS}
    assert marked.left() == []


def test_of_two_loads_at_once_one_is_told_who_has_the_database(tmp_path: Path, results: Path) -> None:
    marked = Marked(tmp_path)
    first = writing(marked, results)
    first.send_signal(signal.SIGSTOP)
    second = marked.run("load", str(results))
    asked = marked.run("sql", "FROM sessions", "--results", str(results))
    first.send_signal(signal.SIGCONT)
    first.communicate(timeout=60)
    for refused in (second, asked):
        assert refused.returncode == 2
        assert f"results.duckdb: in use by process {first.pid}: while one process writes" in refused.stderr
    assert first.returncode == 0
    assert rows(results) == {"a": ROWS, "b": ROWS}


def test_a_session_that_ends_while_somebody_reads_says_how_its_rows_come_into_the_database(
    tmp_path: Path, results: Path
) -> None:
    marked = Marked(tmp_path)
    with duckdb.connect(str(results / "results.duckdb"), read_only=True):
        done = marked.run(
            "import", str(PUBLISHED), "--suite", "published", "--session", "c", "--results", str(results)
        )
    assert done.returncode == 1
    assert f"in use by process {os.getpid()}" in done.stderr
    assert "bench: the result files are complete; load them later with `" in done.stderr
    assert marked.run("load", str(results)).stdout.startswith("2 sessions, ")


def test_sessions_that_end_at_the_same_time_are_all_loaded(tmp_path: Path) -> None:
    """An import ends as a session does: with a load, and the session's table."""
    (tmp_path / "t.csv").write_text(
        "case,scaling,world_size,repeat,seconds,examples\nddp,strong,2,0,100,1000\n"
    )
    marked, results = Marked(tmp_path), tmp_path / "together"
    started = [
        marked.start(
            "import",
            str(tmp_path / "t.csv"),
            "--suite",
            "x",
            "--session",
            f"s{number}",
            "--results",
            str(results),
        )
        for number in range(4)
    ]
    for process in started:
        output = process.communicate()
        assert process.returncode == 0, output
        assert "2 ranks" in output[0]
    with duckdb.connect(str(results / "results.duckdb"), read_only=True) as connection:
        found = connection.execute("SELECT session_id FROM scaling ORDER BY ALL").fetchall()
    assert found == [(f"s{number}",) for number in range(4)]
