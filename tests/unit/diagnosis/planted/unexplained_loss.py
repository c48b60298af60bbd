from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session


def fires(results: Path) -> None:
    """FSDP without profiled steps: half of the efficiency is lost, and nothing says to what."""
    _session(results, strategy="fsdp")


def quiet(results: Path) -> None:
    """DDP with the same times: what backward takes longer than on one rank is communication."""
    _session(results, strategy="ddp")


def _session(results: Path, *, strategy: str) -> None:
    make_session(results, [Case(name="wide", strategy=strategy, step_ms={1: 40.0, 2: 40.0})])
