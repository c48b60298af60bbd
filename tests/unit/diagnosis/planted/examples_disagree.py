from __future__ import annotations

import json
from pathlib import Path

from tests.factory import Case, make_session
from tests.unit.diagnosis.planted.needless_reductions import OPTIONS

CONFLICT = "rank 0 trains 3 examples per step, by the shape of the loader's batches, and the command was told to take 8"


def _session(results: Path, **recorded_by: str) -> None:
    case = Case(
        name="command", strategy="command", workload="command", options=OPTIONS, step_ms={1: 20.0},
        outcome={"recorded_by": json.dumps({"step": "step() of SGD", **recorded_by})},
    )  # fmt: skip
    make_session(results, [case])


def fires(results: Path) -> None:
    """A tuple of pictures was counted by their channels."""
    _session(results, conflict=CONFLICT)


def quiet(results: Path) -> None:
    _session(results)
