from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session
from tests.pauses import pause
from tests.unit.diagnosis.planted.needless_reductions import OPTIONS


def fires(results: Path) -> None:
    """A rollout of 30 ms before every fifth step of 10 ms."""
    _session(results, (5, 10, 15, 20))


def quiet(results: Path) -> None:
    """As much time, but not at equal distances; and the same with `--pauses count`."""
    _session(results, (5, 9, 15, 20))
    _session(results, (5, 10, 15, 20), pauses="count")


def _session(results: Path, steps: tuple[int, ...], **options: str) -> None:
    case = Case(
        name="command", strategy="command", workload="command", options={**OPTIONS, **options},
        step_ms={1: 20.0, 2: 10.0}, warmup=2, steps=20,
    )  # fmt: skip
    folder = make_session(results, [case], session_id=f"{steps[1]}-{len(options)}")
    for repeat in range(3):
        pause(folder, f"command.1x2.r{repeat}", {step: {"validation": 30.0} for step in steps})
