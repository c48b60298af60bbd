from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session


def fires(results: Path) -> None:
    """The host waits for every kernel."""
    _session(results, blocking="1")


def quiet(results: Path) -> None:
    """The variable is set to no."""
    _session(results, blocking="0")


def _session(results: Path, *, blocking: str) -> None:
    facts = {"hostname": "node-a", "CUDA_LAUNCH_BLOCKING": blocking}
    make_session(results, [Case(name="ddp", step_ms={2: 20.0}, device_type="cuda")], environment={"0": facts})
