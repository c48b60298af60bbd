from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session


def fires(results: Path) -> None:
    """Single steps vary by 12 % in each of three repeats. In another case the steps are alike, but two repeats are 15
    % apart."""
    _session(results, 0.12, Case(name="two_repeats", step_ms={1: [18.6, 21.4]}, repeats=2))


def quiet(results: Path) -> None:
    """They vary by 4 %, and the repeats hardly differ; two repeats are 5 % apart."""
    _session(results, 0.04, Case(name="two_repeats", step_ms={1: [19.5, 20.5]}, repeats=2))


def _session(results: Path, jitter: float, two_repeats: Case) -> None:
    cases = [Case(name="ddp", step_ms={1: 20.0, 2: 11.0}, steps=100, jitter=jitter), two_repeats]
    make_session(results, cases)
