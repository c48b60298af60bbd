from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.factory import Case, make_session


def fires(results: Path) -> None:
    """A fifth of each step waits for the batch, without and with loader processes; or nearly all of it."""
    make_session(
        results, [_case("alone", 0.2), _case("four", 0.2, data={"workers": 4}), _case("starved", 0.55)]
    )


def quiet(results: Path) -> None:
    """A tenth does."""
    make_session(results, [_case("alone", 0.1)])


def _case(name: str, share: float, **settings: Any) -> Case:
    shares = (share, 0.3, 0.6 - share, 0.1)
    return Case(name=name, strategy="single", scaling="none", step_ms={1: 50.0}, shares=shares, **settings)
