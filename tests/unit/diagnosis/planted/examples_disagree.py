from __future__ import annotations

from pathlib import Path

from tests.unit.diagnosis.planted.probe_error import recorded_by_session

CONFLICT = "rank 0 trains 3 examples per step, by the shape of the loader's batches, and the command was told to take 8"


def fires(results: Path) -> None:
    """A tuple of pictures was counted by their channels."""
    recorded_by_session(results, conflict=CONFLICT)


def quiet(results: Path) -> None:
    recorded_by_session(results)
