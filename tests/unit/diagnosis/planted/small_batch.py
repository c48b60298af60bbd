from __future__ import annotations

from pathlib import Path

from bench.records.run_spec import RunSpec
from tests.factory import Case, make_session
from tests.profile_rows import Figures, add_profile


def fires(results: Path) -> None:
    """On two ranks a step waits 3 of 8 ms for gradients, by strong and by weak scaling. Another case would need a
    batch 128 times as large."""
    cases = [
        Case(name="strong", step_ms={1: [9.9, 10.0, 10.1], 2: [7.9, 8.0, 8.1]}),
        Case(name="weak", step_ms={1: [4.9, 5.0, 5.1], 2: [7.9, 8.0, 8.1]}, scaling="weak", batch=32),
        Case(name="hopeless", step_ms={1: [1.9, 2.0, 2.1], 2: [39.8, 40.0, 40.2]}),
    ]

    def figures(spec: RunSpec, _rank: int) -> Figures:
        if spec.world_size == 1:
            return (100, 0, 0, 90)
        return (100, 89, 89, 1) if spec.case_name == "hopeless" else (80, 30, 30, 42)

    add_profile(make_session(results, cases), figures, {})


def quiet(results: Path) -> None:
    """The same times, but one rank spends the 3 ms waiting for the other, which computes longer. In another case the
    point estimate of computation is as much longer, but the repeats are far apart."""
    cases = [
        Case(name="uneven", step_ms={1: [9.9, 10.0, 10.1], 2: [7.9, 8.0, 8.1]}),
        Case(name="noisy", step_ms={1: [9.9, 10.0, 10.1], 2: [5.0, 8.0, 15.0]}),
    ]

    def figures(spec: RunSpec, rank: int) -> Figures:
        if spec.world_size == 1:
            return (100, 0, 0, 90)
        if spec.case_name == "noisy":
            return (80, 4, 4, 68)
        return (80, 30, 30, 42) if rank else (80, 0, 0, 72)

    add_profile(make_session(results, cases), figures, {})
