from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session


def fires(results: Path) -> None:
    """A kernel runs in 30 % of the time, and no time is spent waiting for data."""
    _session(results, data=0.0)


def quiet(results: Path) -> None:
    """A kernel runs as seldom, but because 60 % of the time is spent waiting for data."""
    _session(results, data=0.6)


def _session(results: Path, *, data: float) -> None:
    rest = 1 - data
    shares = (data, 0.3 * rest, 0.6 * rest, 0.1 * rest)
    gpu = {"gpu_util_pct": 30.0}
    case = Case(name="ddp", step_ms={1: 40.0}, shares=shares, device_type="cuda", gpu=gpu)
    make_session(results, [case])
