"""A full disk: completed rows are kept, the error names the place and the remedy, and no file is half-written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
from processes import Marked

from tests.disks import Disk
from tests.e2e.faulty_sessions import ddp, outcome, suite_file

Disks = Callable[[str, str], Disk]


def measure(marked: Marked, folder: Path, *cases: dict[str, object]) -> list[str]:
    """Arguments of a session `s` of these cases, with its results in `folder`/r."""
    suite = suite_file(folder, list(cases))
    return [
        "suite",
        str(suite),
        "--results",
        str(folder / "r"),
        "--session",
        "s",
        "--ranks-per-node",
        "2",
        "--order",
        "fixed",
        "--no-load",
    ]


def rows(run: Path) -> int:
    """Number of rows in an attempt's Parquet file."""
    return pq.read_metadata(run / "steps.node0.parquet").num_rows


def test_a_run_without_room_for_its_rows_fails_before_its_first_step_and_the_next_one_runs(
    tmp_path: Path, disk: Disks
) -> None:
    marked = Marked(disk("scratch", "128k").folder)
    large = ddp("large") | {"measure": {"steps": 100_000}}
    done = marked.run(*measure(marked, tmp_path, large, ddp("small")))
    said = outcome(tmp_path / "r", "s", "large.1x2.r0")
    assert (said["status"], said["failed_node"], said["steps_completed"]) == ("failed", 0, 0)
    assert said["error"].startswith(
        "OSError: [Errno 28] No space left on device for 8,004,176 bytes of step rows; "
    )
    assert f"set TMPDIR to a folder on another disk: '{tmp_path}/scratch/bench-" in said["error"]
    assert outcome(tmp_path / "r", "s", "small.1x2.r0")["status"] == "ok"
    assert (done.returncode, rows(tmp_path / "r/s/small.1x2.r0")) == (1, 26)
    assert "Traceback" not in done.stdout + done.stderr
    assert marked.left() == []


def test_rows_that_the_results_have_no_room_for_are_kept_until_a_resume_stores_them(
    tmp_path: Path, disk: Disks
) -> None:
    results, marked = disk("r", "48k"), Marked(tmp_path)
    done = marked.run(*measure(marked, tmp_path, ddp("first") | {"measure": {"steps": 1_000}}))
    assert done.returncode == 2
    assert (
        f"the rows of first.1x2.r0 cannot be stored: No space left on device: {results.folder}/s/"
        in done.stderr
    )
    assert "suite --resume s` here stores them and continues" in done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert marked.left() == []
    assert sorted(path.name for path in results.folder.rglob("*.tmp")) == []
    results.mount("size=64m")
    loaded = marked.run("load", str(results.folder))
    assert "first.1x2.r0: begun and never ended: `bench suite --resume s` keeps its rows" in loaded.stdout
    done = marked.run("suite", "--resume", "s", "--results", str(results.folder), "--ranks-per-node", "2")
    assert done.returncode == 0, done.stderr
    run = results.folder / "s/first.1x2.r0"
    assert (rows(run / "attempt0"), rows(run)) == (2_002, 2_002)
    assert list(tmp_path.glob("bench-*")) == []
