from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session


def fires(results: Path) -> None:
    """Two compilations fall among measured steps."""
    _session(results, measured_recompiles=2)


def quiet(results: Path) -> None:
    """All compilations fall into the warm-up, and take long."""
    _session(results, measured_recompiles=0)


def _session(results: Path, measured_recompiles: int) -> None:
    case = Case(
        name="compiled",
        step_ms={1: 10.0},
        train={"compile": True},
        outcome={"compile_s": 80.0, "measured_recompiles": measured_recompiles},
    )
    make_session(results, [case])
