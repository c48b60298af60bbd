from __future__ import annotations

import json
from pathlib import Path

from tests.factory import Case, make_session
from tests.unit.diagnosis.planted.needless_reductions import OPTIONS

ERROR = "Traceback (most recent call last):\n  File losses.py, line 30, in note\nRuntimeError: no value\n"


def recorded_by_session(results: Path, **recorded_by: str) -> None:
    case = Case(
        name="command", strategy="command", workload="command", options=OPTIONS, step_ms={1: 20.0},
        outcome={"recorded_by": json.dumps({"step": "step() of SGD", **recorded_by})},
    )  # fmt: skip
    make_session(results, [case])


def fires(results: Path) -> None:
    """The recorder could not read a loss."""
    recorded_by_session(results, turned_off="loss", error=ERROR)


def quiet(results: Path) -> None:
    recorded_by_session(results)
