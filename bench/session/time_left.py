"""Whether a run still fits into the rest of the Slurm allocation."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from bench.machine.slots import slurm_number
from bench.plan import estimate
from bench.plan.plan_text import duration
from bench.records.run_spec import RunSpec

_RESERVE_S = 30.0
"""Enough to store the last run's rows before Slurm ends the job."""


@dataclass(kw_only=True)
class TimeLeft:
    """The time left in a Slurm job. Without a job, or if Slurm does not tell its end, there is no limit."""

    end_s: float | None
    """Unix time at which the allocation ends; null: no limit."""
    reserve_s: float = _RESERVE_S
    """Seconds before the end that no run may need."""
    results: Path
    """Results folder with earlier sessions, for estimates."""
    clock: Callable[[], float] = time.time
    _known: dict[str, dict[str, float]] = field(default_factory=dict)
    """Estimated seconds of a run by its key, by suite."""

    @classmethod
    def here(cls, results: Path, reserve_s: float | None) -> TimeLeft:
        """From SLURM_JOB_END_TIME, with the reserve in seconds or its default."""
        end = slurm_number("SLURM_JOB_END_TIME") if "SLURM_JOB_ID" in os.environ else None
        reserve_s = _RESERVE_S if reserve_s is None else reserve_s
        return cls(end_s=end or None, reserve_s=reserve_s, results=results)

    def too_short_for(self, run: RunSpec) -> str | None:
        """Why the run would not end in time, by earlier runs' times; null if it may."""
        if self.end_s is None:
            return None
        left_s = self.end_s - self.clock() - self.reserve_s
        takes_s = self._seconds_by_kind(run.suite).get(estimate.key(run), 0.0)
        if takes_s <= left_s:
            return None
        takes = f"takes about {duration(takes_s)}, " if takes_s else ""
        return f"{takes}{duration(max(0.0, left_s))} of the allocation are left"

    def took(self, run: RunSpec, elapsed_s: float) -> None:
        """Note the time of a run; the longest of this session counts."""
        known, key = self._seconds_by_kind(run.suite), estimate.key(run)
        known[key] = max(known.get(key, 0.0), elapsed_s)

    def _seconds_by_kind(self, suite: str) -> dict[str, float]:
        if suite not in self._known:
            self._known[suite] = {} if self.end_s is None else estimate.earlier(self.results, {suite})
        return self._known[suite]
