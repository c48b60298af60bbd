"""How the batch of a user's command grew with the ranks, as its recorder counted it: a line for each case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis.database.rows import Row
from bench.records.vocabulary import COMMAND

_COUNTED = {
    "strong": ("global_batch", "all ranks together train"),
    "weak": ("batch_per_rank", "each rank trains"),
}
"""Scaling -> the batch that is the same at all sizes, and who trains it."""
_EQUAL = 1.02
"""Ratio up to which batches count as equal, as in results.duckdb-schema/load/scaling_of_commands.sql."""


def lines(points: Sequence[Row]) -> Iterator[str]:
    """Such as `command: weak scaling; each rank trains 128 examples per step`. A case has no line if only one size was
    measured, if it does not scale, or if the user named another scaling. `points` are rows of `scaling`."""
    measured = [point for point in points if point["workload"] == COMMAND and point["global_batch"]]
    for case in dict.fromkeys(point["case_name"] for point in measured):
        sizes = [point for point in measured if point["case_name"] == case]
        mode = sizes[0]["scaling_mode"]
        if len(sizes) < 2 or mode not in _COUNTED:
            continue
        key, who = _COUNTED[mode]
        batches = [size[key] for size in sizes]
        if max(batches) <= _EQUAL * min(batches):
            yield f"{case}: {mode} scaling; {who} {batches[0]:,} examples per step"
