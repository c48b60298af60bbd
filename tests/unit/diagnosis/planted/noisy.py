from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session


def fires(results: Path) -> None:
    """Single steps vary by 12 % in each of three repeats. In another case the steps are alike, but two repeats are 15
    % apart."""
    _session(results, 0.12, Case(name="two_repeats", step_ms={1: [18.6, 21.4]}, repeats=2))


def quiet(results: Path) -> None:
    """They vary by 4 %, and the repeats hardly differ; two repeats are 5 % apart. In another session each round takes a
    fifth longer than the one before, at all sizes alike."""
    _session(results, 0.04, Case(name="two_repeats", step_ms={1: [19.5, 20.5]}, repeats=2))
    drifting = {1: [20.0, 24.1, 28.0], 2: [10.1, 12.0, 14.0], 4: [5.0, 6.0, 7.02]}
    make_session(results, [Case(name="ddp", step_ms=drifting)], session_id="drifting")


def _session(results: Path, jitter: float, two_repeats: Case) -> None:
    cases = [Case(name="ddp", step_ms={1: 20.0, 2: 11.0}, steps=100, jitter=jitter), two_repeats]
    make_session(results, cases)
