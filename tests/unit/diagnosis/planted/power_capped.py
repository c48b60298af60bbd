from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session

IDLE, POWER_LIMIT = 0x01, 0x04


def fires(results: Path) -> None:
    """Every reading is at the power limit in the environment."""
    _session(results, POWER_LIMIT)


def quiet(results: Path) -> None:
    """NVML gives a reason as well: the GPU idles."""
    _session(results, IDLE)


def _session(results: Path, reasons: int) -> None:
    case = Case(name="ddp", step_ms={2: 400.0}, device_type="cuda", gpu={"throttle_reasons": reasons})
    make_session(results, [case], environment={"0": {"hostname": "node-a", "gpu0_power_limit_w": "700.0"}})
