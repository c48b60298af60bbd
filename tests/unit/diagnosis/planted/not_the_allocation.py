from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session

SLURM = {"hostname": "node-a", "slurm_job_id": "4711"}


def fires(results: Path) -> None:
    """A job of Slurm's in which the largest size has no slots."""
    make_session(results, [_case()], environment={"0": SLURM})


def quiet(results: Path) -> None:
    """The same on a laptop without an allocation."""
    make_session(results, [_case()], environment={"0": {"hostname": "laptop"}})


def _case() -> Case:
    skipped = {(8, repeat): "skipped" for repeat in range(3)}
    return Case(name="ddp", step_ms={4: 20.0, 8: 10.0}, statuses=skipped)
