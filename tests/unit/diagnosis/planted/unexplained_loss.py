from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session


def fires(results: Path) -> None:
    """FSDP without profiled steps: half of the efficiency is lost without a known cause."""
    _session(results, strategy="fsdp")


def quiet(results: Path) -> None:
    """DDP with the same times: the extra time of backward over one rank is communication."""
    _session(results, strategy="ddp")


def _session(results: Path, *, strategy: str) -> None:
    make_session(results, [Case(name="wide", strategy=strategy, step_ms={1: 40.0, 2: 40.0})])
