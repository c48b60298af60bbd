from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.factory import Case, make_session


def fires(results: Path) -> None:
    """Amdahl's law with a seventh of the step serial: 16 ranks would be 1.25 times as fast as 8. In another case the
    serial fraction grows, from a tenth on 2 ranks to a fifth on 8."""
    growing = {1: 200.0, 2: 110.0, 4: 70.0, 8: 60.0}
    make_session(results, [_case("constant", _amdahl(1 / 7)), _case("growing", growing)])


def quiet(results: Path) -> None:
    """The same law with a twentieth: 16 ranks would still be 1.54 times as fast as 8. A second case has two sizes
    alone, which do not show the serial part. In a third the fractions are around 0, and give no bound on the
    speedup."""
    two = {ranks: ms for ranks, ms in _amdahl(1 / 7).items() if ranks in (1, 8)}
    make_session(results, [_case("shared", _amdahl(1 / 20)), _case("two_sizes", two), _ideal()])


def _ideal() -> Case:
    return Case(
        name="ideal", step_ms={1: [79, 81], 2: [39.5, 40.5], 4: [19.5, 20.5], 8: [9.6, 10.9]}, repeats=2
    )


def _amdahl(serial: float) -> dict[int, float]:
    return {ranks: 200.0 * (serial + (1 - serial) / ranks) for ranks in (1, 2, 4, 8)}


def _case(name: str, step_ms: Mapping[int, float]) -> Case:
    return Case(name=name, step_ms={ranks: [0.998 * ms, ms, 1.002 * ms] for ranks, ms in step_ms.items()})
