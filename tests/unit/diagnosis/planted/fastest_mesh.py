from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session

LM = {"preset": "1m", "tie_embeddings": False}


def fires(results: Path) -> None:
    """tp is a third faster than fsdp on as many ranks, in every round."""
    _cases(results, tp_ms=15.0)


def quiet(results: Path) -> None:
    """It is as fast, within what repeats vary by."""
    _cases(results, tp_ms=19.9)


def _cases(results: Path, tp_ms: float) -> None:
    step_ms = {"tp": [tp_ms, 1.03 * tp_ms, 0.98 * tp_ms], "fsdp": [20.0, 20.2, 20.1]}
    make_session(
        results,
        [
            Case(name=name, strategy=name, step_ms={2: times}, workload="transformer_lm", options=LM)
            for name, times in step_ms.items()
        ],
    )
