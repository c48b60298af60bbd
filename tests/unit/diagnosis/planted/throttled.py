from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session

TOO_HOT, POWER_LIMIT = 0x40, 0x04


def fires(results: Path) -> None:
    """The hardware lowers the clock because it is too hot."""
    _session(results, TOO_HOT)


def quiet(results: Path) -> None:
    """The clock is as low, but because of the power limit."""
    _session(results, POWER_LIMIT)


def _session(results: Path, reasons: int) -> None:
    gpu = {"throttle_reasons": reasons, "sm_clock_mhz": 1_410.0, "temperature_c": 91.0}
    make_session(results, [Case(name="ddp", step_ms={2: 400.0}, device_type="cuda", gpu=gpu)])
