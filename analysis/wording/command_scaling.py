"""The counts of the recorder of a user's command: the examples of a step, and how they grew with the ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis.database.rows import Row
from analysis.wording.plain_text import number
from bench.records.vocabulary import COMMAND

_WHO = {"strong": "strong scaling; all ranks together train", "weak": "weak scaling; each rank trains"}
"""Scaling -> who trains the batch that is the same at all sizes."""
_EQUAL = 1.1
"""Ratio up to which mean batches count as equal, as in results.duckdb-schema/load/scaling_of_commands.sql."""


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
        mode, who = of_case[0]["scaling_mode"], _WHO.get(of_case[0]["scaling_mode"], "each rank trains")
        batches = [
            size["examples_per_step"] / (1 if mode == "strong" else size["world_size"]) for size in sizes
        ]
        if batches and max(batches) <= _EQUAL * min(batches):
            yield f"{case}: {who} {number(batches[0])} examples per step{_asked(how)}"


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
