from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.factory import Case, make_session


def fires(results: Path) -> None:
    """The search costs a tenth of the step. Another case has no fact that says that it is needed."""
    cases = [*_pair([11.0, 11.1, 11.2]), _looking("alone", [11.0, 11.1, 11.2], batch=128)]
    make_session(results, cases)


def quiet(results: Path) -> None:
    """It costs less than repeats vary; and a model of another size does not train without it."""
    needed = Case(
        name="fails",
        step_ms={2: 10.0},
        statuses={(2, repeat): "failed" for repeat in range(3)},
        batch=128,
        outcome={"error": "RuntimeError: Expected to have finished reduction in the prior iteration"},
    )
    make_session(results, [*_pair([9.0, 11.0, 13.0]), needed, _looking("needs_it", [11.0, 11.1, 11.2], 256)])


def _pair(looking_ms: Sequence[float]) -> list[Case]:
    return [Case(name="plain", step_ms={2: [10.0, 10.1, 10.2]}), _looking("looking", looking_ms, batch=64)]


def _looking(name: str, step_ms: Sequence[float], batch: int) -> Case:
    options = {"find_unused_parameters": True}
    return Case(name=name, step_ms={2: step_ms}, strategy_options=options, batch=batch)
