from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session


def fires(results: Path) -> None:
    """4 ranks of 2 threads see 8 cores, and their control group grants the time of 4."""
    _session(results, cpu_quota="4")


def quiet(results: Path) -> None:
    """It grants the time of all of them."""
    _session(results, cpu_quota="8")


def _session(results: Path, *, cpu_quota: str) -> None:
    facts = {"hostname": "node-a", "task0_cpus": "[0, 1, 2, 3, 4, 5, 6, 7]", "cpu_quota": cpu_quota}
    make_session(results, [Case(name="ddp", step_ms={4: 20.0}, threads=2)], environment={"0": facts})
