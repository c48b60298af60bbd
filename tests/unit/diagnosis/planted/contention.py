from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session
from tests.rewriting import rewrite_steps

STEP_MS = {1: 100.0, 2: 130.0}
"""Step time for the same batch per rank. One rank takes 10 for data, 30 forward, 50 backward and 10 for the
optimizer."""


def fires(results: Path) -> None:
    """Forward and optimizer of two ranks take longer like the rest of the step: it is their computation."""
    make_session(results, [_case()])


def quiet(results: Path) -> None:
    """They take as long as on one rank, and backward takes longer by that much: that is communication."""
    folder = make_session(results, [_case()])
    for repeat in range(3):
        columns = {"data_ns": 10, "forward_ns": 30, "backward_ns": 80, "optimizer_ns": 10}
        nanoseconds = {name: ms * 1_000_000 for name, ms in columns.items()}
        rewrite_steps(folder, f"weak.1x2.r{repeat}", nanoseconds)


def _case() -> Case:
    return Case(name="weak", scaling="weak", step_ms=STEP_MS)
