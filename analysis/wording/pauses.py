"""Where the time between the first and the last measured step went: a line for each case with pauses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis.database.rows import Row
from analysis.wording.plain_text import counted

_LEAST = 0.005
"""Share of the time below which pauses are not worth a line."""
_NAMED = 0.1
"""Share that throughput leaves out from which the headline says so."""
_KINDS = {
    "validation": "validation_share",
    "saving": "saving_share",
    "other pauses": "unexplained_share",
}


def lines(runs: Sequence[Row]) -> Iterator[str]:
    """Such as `command on 2 ranks, of the time of these 30 measured steps: steps 71 %, validation 29 %`, of each case's
    largest size, the mean over its ok runs. `runs` are rows of `run_summary`."""
    measured = [run for run in runs if run["status"] == "ok" and run["measured_steps"]]
    for case in dict.fromkeys(run["case_name"] for run in measured):
        of_case = [run for run in measured if run["case_name"] == case]
        most = max(run["workers"] for run in of_case)
        largest = [run for run in of_case if run["workers"] == most]
        shares = {kind: sum(run[key] for run in largest) / len(largest) for kind, key in _KINDS.items()}
        paused = sum(shares.values())
        if paused < _LEAST:
            continue
        steps = max(run["measured_steps"] for run in largest)
        said = {"steps": 1 - paused} | {kind: share for kind, share in shares.items() if share >= _LEAST}
        parts = ", ".join(f"{kind} {100 * share:.0f} %" for kind, share in said.items())
        yield f"{case} on {counted(most, largest[0]['axis'])}, of the time of these {steps:,} measured steps: {parts}"


def left_out(points: Sequence[Row]) -> str:
    """The headline's sentence on pauses that throughput leaves out, if they take more than a tenth of the time of a
    size; else empty. `points` are rows of `scaling`."""
    most = max((point.get("left_out_share") or 0 for point in points), default=0)
    return f" This leaves out pauses of up to {100 * most:.0f} % of the time." if most > _NAMED else ""
