"""The name of what validation scores: accuracy, unless a workload names another."""

from __future__ import annotations

from collections.abc import Iterable

from bench.records.vocabulary import is_metric

ACCURACY = "accuracy"
_MOST_NAMES = 3


def metric_of(names: Iterable[str | None]) -> str:
    """One name for the column `metric` of several rows, free of markup: `Dice`; `Dice or accuracy` if rows differ; and
    `score` for too many names, or text that no workload can have."""
    distinct = sorted({ACCURACY if name is None else name for name in names}) or [ACCURACY]
    return (
        " or ".join(distinct) if len(distinct) <= _MOST_NAMES and all(map(is_metric, distinct)) else "score"
    )
