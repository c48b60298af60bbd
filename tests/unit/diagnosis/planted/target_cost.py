from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session


def _session(results: Path, two: list[int]) -> None:
    steps = {(1, repeat): step for repeat, step in enumerate([40, 50, 40, 50])}
    steps |= {(2, repeat): step for repeat, step in enumerate(two)}
    make_session(
        results,
        [
            Case(
                name="ddp", step_ms={1: 10.0, 2: 10.5}, scaling="weak", repeats=4, steps=198, validate_every=10,
                validation_ms=20.0, until_loss=0.5, target_step=steps,
            )
        ],
    )  # fmt: skip


def fires(results: Path) -> None:
    """Two workers need nearly as many steps as one, and so nearly twice the examples."""
    _session(results, [40, 40, 40, 50])


def quiet(results: Path) -> None:
    """They need about half of the steps, as the examples of one worker would take."""
    _session(results, [20, 30, 20, 20])
