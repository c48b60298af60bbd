from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session

VARIES = {1: (1.0, 1.01, 0.99), 2: (1.01, 1.0, 0.995), 4: (0.99, 1.0, 1.01), 8: (1.0, 0.99, 1.005)}
"""n -> step times of three repeats, in fractions of the usual one."""


def fires(results: Path) -> None:
    """The second of three repeats of the baseline took half as long again; all other sizes vary by one percent."""
    _session(results, disturbed=(1,))


def quiet(results: Path) -> None:
    """In the second round every size took half as long again. Elsewhere all repeats of one size are far apart."""
    _session(results, disturbed=(1, 2, 4, 8))
    far_apart = Case(name="ddp", step_ms={1: [100.0, 120.0, 150.0], 2: [50.0, 50.5, 49.5]})
    make_session(results, [far_apart], session_id="far_apart")


def _session(results: Path, disturbed: tuple[int, ...]) -> None:
    sizes = {n: [100.0 / n * factor for factor in factors] for n, factors in VARIES.items()}
    for n in disturbed:
        sizes[n][1] *= 1.5
    make_session(results, [Case(name="ddp", step_ms=sizes)])
