from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session
from tests.pauses import stall
from tests.unit.diagnosis.planted.needless_reductions import OPTIONS


def fires(results: Path) -> None:
    """Steps of 10 ms, and two in which rank 0 does something else for 60 ms."""
    _session(results, 60.0)


def quiet(results: Path) -> None:
    """Three more steps, which may be noise."""
    _session(results, 30.0)


def _session(results: Path, longer_ms: float) -> None:
    case = Case(
        name="command", strategy="command", workload="command", options=OPTIONS, step_ms={1: 20.0, 2: 10.0},
        warmup=2, steps=20,
    )  # fmt: skip
    folder = make_session(results, [case])
    for repeat in range(3):
        stall(folder, f"command.1x2.r{repeat}", {7: longer_ms, 12: longer_ms})
