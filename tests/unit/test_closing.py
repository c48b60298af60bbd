"""The last line of a session that was stopped."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from bench.cli._closing import close
from bench.launch.run_suite import Ended


def stopped(folder: Path, by: str) -> Ended:
    return Ended(
        session_id=folder.name,
        folder=folder,
        statuses={"ok": 2, "interrupted": 1, "skipped": 3, "not run": 12},
        stopped_by=128 + signal.SIGTERM,
        stopped_reason=f"stopped by {by}",
        left_for_time=3,
    )


@pytest.mark.parametrize("by", ["the file STOP", "SIGINT"])
def test_a_stopped_session_says_by_what_after_how_much_and_what_next(
    by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    assert close(stopped(tmp_path / "s", by), load=True, as_json=False) == 143
    said = capsys.readouterr().err
    assert said.startswith(f"stopped by {by} after 2 of 18 runs; what was measured is kept. `")
    assert f" load {tmp_path}` shows it, `" in said
    assert said.endswith(f" suite --resume s --results {tmp_path}` finishes the session.\n")


@pytest.mark.parametrize("kind", ["json", "txt"])
def test_in_a_batch_script_that_does_what_is_next_nothing_else_is_said(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    (tmp_path / f"slurm-job-7.{kind}").touch()
    assert close(stopped(tmp_path, "the file STOP"), load=False, as_json=False) == 143
    assert (
        capsys.readouterr().err == "stopped by the file STOP after 2 of 18 runs; what was measured is kept.\n"
    )
