"""The same session started twice, and a clock that is set back while one runs."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pyarrow.parquet as pq
from processes import Marked

from tests.e2e.faulty_sessions import outcome, start_held

BACK = """
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>
int clock_gettime(clockid_t clock, struct timespec *now) {
  int result = syscall(SYS_clock_gettime, clock, now);
  if (clock == CLOCK_REALTIME && access(SET_BACK, F_OK) == 0) now->tv_sec -= 7200;
  return result;
}
"""
"""Once a file exists, this preloaded library sets the process's wall clock back by two hours, and no other clock."""


def test_a_session_that_runs_is_neither_begun_nor_resumed_by_another(tmp_path: Path) -> None:
    marked = Marked(tmp_path)
    process = start_held(tmp_path, marked, "--no-load")
    where = ("--results", str(tmp_path / "r"), "--ranks-per-node", "2")
    # the same name as in start_held
    again = marked.run("suite", str(tmp_path / "faults.yaml"), "--session", "s", *where)
    resumed = marked.run("suite", "--resume", "s", *where)
    for refused in (again, resumed):
        assert refused.returncode == 2
        assert "session s is being written by another process: wait for it" in refused.stderr
        assert "loading torch" not in refused.stderr
    (tmp_path / "hold").unlink()
    process.communicate(timeout=120)
    assert process.returncode == 0
    for run in ("slow.1x2.r0", "later.1x2.r0"):
        assert outcome(tmp_path / "r", "s", run)["status"] == "ok"
        assert pq.read_metadata(tmp_path / "r/s" / run / "steps.node0.parquet").num_rows == 26
    assert marked.left() == []


def test_a_wall_clock_that_goes_back_changes_no_duration_and_loses_no_row(
    tmp_path: Path, require_program: Callable[[str], str]
) -> None:
    source, library, back = tmp_path / "back.c", tmp_path / "back.so", tmp_path / "set-back"
    source.write_text(BACK)
    define = f'-DSET_BACK="{back}"'
    command = [require_program("gcc"), "-shared", "-fPIC", define, "-o", str(library), str(source)]
    subprocess.run(command, check=True)
    marked = Marked(tmp_path)
    marked.environment["LD_PRELOAD"] = str(library)
    process = start_held(tmp_path, marked)
    back.touch()
    (tmp_path / "hold").unlink()
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    session = json.loads((tmp_path / "r/s/session.json").read_text())
    began, ended = (datetime.fromisoformat(session[key]) for key in ("created_at", "finished_at"))
    assert ended < began
    for run in ("slow.1x2.r0", "later.1x2.r0"):
        said = outcome(tmp_path / "r", "s", run)
        steps = pq.read_table(tmp_path / "r/s" / run / "steps.node0.parquet").to_pydict()
        assert (said["status"], len(steps["step"])) == ("ok", 26)
        assert 0 < said["setup_s"] < said["elapsed_s"] < 3_600
        assert min(steps["step_ns"]) > 0
        assert sorted(steps["start_ns"][:13]) == steps["start_ns"][:13]
    assert "left out" not in out
    assert marked.left() == []
