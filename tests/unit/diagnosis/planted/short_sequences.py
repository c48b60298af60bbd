from __future__ import annotations

from pathlib import Path

from bench.records.run_spec import RunSpec
from tests.factory import Case, make_session
from tests.profile_rows import Figures, add_profile


def fires(results: Path) -> None:
    """64 tokens; on two ranks a step of 10 ms computes for 6 ms and waits 3 ms for gradients."""
    _session(results, tokens=64, waiting=3)


def quiet(results: Path) -> None:
    """The same figures with 128 tokens."""
    _session(results, tokens=128, waiting=3)


def _session(results: Path, *, tokens: int, waiting: int) -> None:
    case = Case(
        name="news",
        step_ms={1: [14.9, 15.0, 15.1], 2: [9.9, 10.0, 10.1]},
        workload="transformer_lm",
        options={"preset": "1m", "sequence_length": tokens},
        tokens_per_example=tokens,
    )

    def figures(spec: RunSpec, _rank: int) -> Figures:
        return (10, waiting, waiting, 9 - waiting) if spec.world_size > 1 else (10, 0, 0, 9)

    add_profile(make_session(results, [case]), figures, {})
