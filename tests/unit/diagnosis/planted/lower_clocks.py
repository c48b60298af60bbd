from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session


def fires(results: Path) -> None:
    """Two GPUs run at 1,400 MHz where one runs at 1,980 MHz."""
    _session(results, sm_clock_mhz=1_400.0)


def quiet(results: Path) -> None:
    """They run at 1,965 MHz, which costs less than 1 %."""
    _session(results, sm_clock_mhz=1_965.0)


def _session(results: Path, *, sm_clock_mhz: float) -> None:
    one = Case(name="one", step_ms={1: 400.0}, device_type="cuda", gpu={"sm_clock_mhz": 1_980.0})
    two = Case(
        name="two", step_ms={2: 280.0}, baseline="one", device_type="cuda", gpu={"sm_clock_mhz": sm_clock_mhz}
    )
    make_session(results, [one, two])
