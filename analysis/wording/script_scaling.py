"""How the batch of a user's script grew with the ranks, as its recorder counted it: a line for each case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis.database.rows import Row
from bench.records.vocabulary import SCRIPT


def lines(points: Sequence[Row]) -> Iterator[str]:
    """Such as `script: weak scaling; each rank trains 128 examples per step`. None for a case of one measured size, of
    neither scaling, or of another one than the user said. `points` are rows of `scaling`."""
    measured = [point for point in points if point["workload"] == SCRIPT and point["global_batch"]]
    for case in dict.fromkeys(point["case_name"] for point in measured):
        sizes = [point for point in measured if point["case_name"] == case]
        mode = sizes[0]["scaling_mode"]
        key, who = ("global_batch", "all ranks together train") if mode == "strong" else _WEAK
        batches = [size[key] for size in sizes]
        if len(sizes) > 1 and mode != "none" and max(batches) <= _EQUAL * min(batches):
            yield f"{case}: {mode} scaling; {who} {batches[0]:,} examples per step"


_WEAK = ("batch_per_rank", "each rank trains")
_EQUAL = 1.02
"""Ratio up to which batches count as equal, as in results.duckdb-schema/load/scaling_of_scripts.sql."""
