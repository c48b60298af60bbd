"""`measure.until`: which cases and sizes get a further repeat, once every run of the plan has ended."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from bench.files import read_json
from bench.interval import relative_half_width
from bench.measure.throughput import throughput
from bench.plan import by_size
from bench.records.run_spec import PlannedRun


class Rounds:
    """Of one session. A round is one further repeat of every size that is too wide: repeats stay interleaved."""

    def __init__(self, session: Path) -> None:
        self._session = session
        self._throughputs: dict[str, float] = {}
        """Examples/s, by run."""
        self._ok: set[str] = set()
        """Runs that are known to have ended so; they stay so."""

    def further(self, plan: tuple[PlannedRun, ...]) -> tuple[PlannedRun, ...]:
        """The runs of the next round, in the plan's order; none where nothing more is to be repeated."""
        return tuple(_next(runs) for runs in by_size(plan) if self._is_too_wide(runs))

    def _is_too_wide(self, runs: list[PlannedRun]) -> bool:
        """And may be repeated: a size that ran out of memory or failed would do so again."""
        measure = runs[0].spec.measure
        if measure.until is None or len(runs) >= measure.most_repeats:
            return False
        if any(run.skip_reason is not None or not self._is_ok(run) for run in runs):
            return False
        known = [value for run in runs if (value := self._throughput(run)) is not None]
        width = relative_half_width(known)
        return width is None or width > measure.until

    def _is_ok(self, run: PlannedRun) -> bool:
        run_id = run.spec.run_id
        path = self._session / run_id / "run.json"
        if run_id not in self._ok and path.exists() and read_json(path)["outcome"]["status"] == "ok":
            self._ok.add(run_id)
        return run_id in self._ok

    def _throughput(self, run: PlannedRun) -> float | None:
        """Read once; where another node's rows are not to be seen yet, again in the next round."""
        run_id = run.spec.run_id
        if run_id not in self._throughputs:
            found = throughput(self._session / run_id, run.spec)
            if found is None:
                return None
            self._throughputs[run_id] = found
        return self._throughputs[run_id]


def _next(runs: list[PlannedRun]) -> PlannedRun:
    last = runs[-1].spec
    repeat = last.repeat + 1
    run_id = f"{last.run_id.rpartition('.r')[0]}.r{repeat}"
    return dataclasses.replace(runs[-1], spec=dataclasses.replace(last, run_id=run_id, repeat=repeat))
