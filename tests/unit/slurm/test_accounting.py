"""Slurm's own reading of memory is stored with ours, if the cluster keeps accounts."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from bench.slurm.accounting import note_max_rss
from tests.fuzz.limits import ends


def steps(*sizes: int) -> str:
    """As `sacct --json` writes them."""
    tres = [{"type": "mem", "count": size} for size in sizes]
    job = {"steps": [{"step": {"id": "7.0"}, "tres": {"requested": {"max": [one]}}} for one in tres]}
    return json.dumps({"jobs": [job]})


@pytest.fixture
def session(tmp_path: Path) -> Path:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "session.json").write_text(json.dumps({"environment": {"0": {"torch": "2"}}}))
    return tmp_path / "s"


def facts(session: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads((session / "session.json").read_text())["environment"]["0"]
    return found


def test_the_largest_of_all_jobs_of_a_session_is_noted(session: Path) -> None:
    (session / "slurm-steps-7.json").write_text(steps(5 << 30, 6 << 30))
    (session / "slurm-steps-8.json").write_text(steps(1 << 30))
    note_max_rss(session.parent)
    assert facts(session) == {"torch": "2", "slurm_max_rss_bytes": str(6 << 30)}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"jobs": [{"steps": null}]}', '{"jobs": 3}'])
def test_what_says_nothing_changes_nothing(session: Path, text: str) -> None:
    (session / "slurm-steps-7.json").write_text(text)
    before = (session / "session.json").stat().st_mtime_ns
    note_max_rss(session.parent)
    assert (session / "session.json").stat().st_mtime_ns == before


@pytest.mark.parametrize("name", ["slurm-steps-8.json", "session.json", ".lock"])
def test_a_pipe_is_not_opened(session: Path, name: str) -> None:
    (session / "slurm-steps-7.json").write_text(steps(1 << 30))
    (session / name).unlink(missing_ok=True)
    os.mkfifo(session / name)
    with ends():
        note_max_rss(session.parent)


def test_a_session_outside_of_the_results_folder_is_not_changed(session: Path, tmp_path: Path) -> None:
    (session / "slurm-steps-7.json").write_text(steps(1 << 30))
    (tmp_path / "results").mkdir()
    (tmp_path / "results/s").symlink_to(session)
    (tmp_path / "results/t").mkdir()
    for file in session.iterdir():
        (tmp_path / "results/t" / file.name).symlink_to(file)
    note_max_rss(tmp_path / "results")
    assert facts(session) == {"torch": "2"}
