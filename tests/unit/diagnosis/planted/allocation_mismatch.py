from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session

SLURM = {"hostname": "node-a", "slurm_job_id": "4711"}


def fires(results: Path) -> None:
    """A job of Slurm's with 8 slots, in which the size of 16 ranks is skipped."""
    make_session(results, [_case(16)], environment={"0": SLURM})


def quiet(results: Path) -> None:
    """The same on a laptop without an allocation; and in a job of Slurm's a skipped size for which it has the slots."""
    make_session(results, [_case(16)], environment={"0": {"hostname": "laptop"}})
    make_session(results, [_case(8)], environment={"0": SLURM}, session_id="enough_slots")


def _case(largest: int) -> Case:
    skipped = {(largest, repeat): "skipped" for repeat in range(3)}
    return Case(name="ddp", step_ms={4: 20.0, largest: 10.0}, statuses=skipped)
