"""What the recorder of a user's command counted: the examples of a step, and how they grew with the ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis.database.rows import Row
from bench.records.vocabulary import COMMAND

_COUNTED = {
    "strong": ("global_batch", "strong scaling; all ranks together train"),
    "weak": ("batch_per_rank", "weak scaling; each rank trains"),
}
"""Scaling -> the batch that is the same at all sizes, and who trains it."""
_EQUAL = 1.02
"""Ratio up to which batches count as equal, as in results.duckdb-schema/load/scaling_of_commands.sql."""


def lines(points: Sequence[Row], runs: Sequence[Row]) -> Iterator[str]:
    """Such as `command: weak scaling; each rank trains 128 examples per step, by the loader's indices: is that your
    batch?` for each case. `points` are rows of `scaling`, `runs` of `run_summary`."""
    measured = [run for run in runs if run["workload"] == COMMAND and run["status"] == "ok"]
    for case in dict.fromkeys(run["case_name"] for run in measured):
        of_case = sorted(
            (run for run in measured if run["case_name"] == case), key=lambda run: run["workers"]
        )
        unknown = [run for run in of_case if not run["examples_per_step"]]
        how = (unknown or of_case)[-1]["examples_counted"]
        if unknown:
            yield (
                f"{case}: the examples per step are {how or 'not known'}; give the number of one rank with "
                "--examples-per-step N"
            )
            continue
        sizes = [point for point in points if point["case_name"] == case and point["repeats"]]
        key, who = _COUNTED.get(of_case[0]["scaling_mode"], ("batch_per_rank", "each rank trains"))
        batches = [size[key] for size in sizes]
        if batches and None not in batches and max(batches) <= _EQUAL * min(batches):
            yield f"{case}: {who} {batches[0]:,} examples per step{_asked(how)}"


def short_runs(runs: Sequence[Row]) -> Iterator[str]:
    """A line for each case whose figures count the first measured steps only, because a script ended before the others.
    `runs` are rows of `run_summary`."""
    short = [run for run in runs if run["counted_steps"] is not None and run["status"] == "ok"]
    for case in dict.fromkeys(run["case_name"] for run in short):
        of_case = [run for run in short if run["case_name"] == case]
        first = min(of_case, key=lambda run: run["steps_completed"])
        yield (
            f"{case}: all figures come from the first {first['counted_steps']:,} measured steps, because "
            f"{first['run_id']} ended after them: for more, let the script train for longer"
        )


def _asked(how: str | None) -> str:
    """How they were counted, and the question whether that is right."""
    if how is None:
        return ""
    return f", {how}" + (": is that your batch?" if how.startswith("by ") else "")
