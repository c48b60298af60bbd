from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session
from tests.pipeline_rows import add_pipeline_steps


def fires(results: Path) -> None:
    """Both ranks wait for a fifth of forward and backward."""
    _pipeline(results, idle_share=0.2)


def quiet(results: Path) -> None:
    """They wait for a twentieth."""
    _pipeline(results, idle_share=0.05)


def _pipeline(results: Path, idle_share: float) -> None:
    case = Case(
        name="pp",
        strategy="pp",
        step_ms={2: 20.0},
        repeats=2,
        accumulate=4,
        workload="transformer_lm",
        options={"preset": "1m", "tie_embeddings": False},
    )
    folder = make_session(results, [case])
    for repeat in range(2):
        add_pipeline_steps(
            folder / f"pp.1x2.r{repeat}", pipeline_ms=18.0, idle_share=(idle_share, idle_share)
        )
