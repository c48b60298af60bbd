from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session


def fires(results: Path) -> None:
    """The model has no blocks."""
    make_session(results, [_case("fsdp", units=1)])


def quiet(results: Path) -> None:
    """It has one block and the rest; DDP shards nothing."""
    make_session(results, [_case("fsdp", units=2), _case("ddp", units=1)])


def _case(strategy: str, units: int) -> Case:
    return Case(name=strategy, strategy=strategy, step_ms={1: 20.0, 2: 11.0}, outcome={"units": units})
