"""Whether a run still fits into what is left of the allocation."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from bench import plan_estimate
from bench.plan_view import duration
from bench.records.run_spec import RunSpec
from bench.slots import slurm_number

_RESERVE_S = 30.0
"""For storing the last run's rows and ending well before Slurm ends the job."""


@dataclass(kw_only=True)
class TimeLeft:
    """Of a Slurm job; without one, or where Slurm does not say, there is no end."""

    end_s: float | None
    """Unix time at which the allocation ends."""
    reserve_s: float = _RESERVE_S
    """Before it, that runs must not need."""
    results: Path
    """Where earlier sessions tell how long a run takes."""
    clock: Callable[[], float] = time.time
    _known: dict[str, dict[str, float]] = field(default_factory=dict)
    """Seconds of a run by what it is, of each suite."""

    @classmethod
    def here(cls, results: Path, reserve_s: float | None) -> TimeLeft:
        """From SLURM_JOB_END_TIME. Without a reserve that was asked for, enough to store the last rows."""
        end = slurm_number("SLURM_JOB_END_TIME") if "SLURM_JOB_ID" in os.environ else None
        reserve_s = _RESERVE_S if reserve_s is None else reserve_s
        return cls(end_s=end or None, reserve_s=reserve_s, results=results)

    def too_short_for(self, run: RunSpec) -> str | None:
        """A sentence where the run would not end in time, as far as earlier ones tell; null where it may."""
        if self.end_s is None:
            return None
        left_s = self.end_s - self.clock() - self.reserve_s
        takes_s = self._of(run.suite).get(plan_estimate.key(run), 0.0)
        if takes_s <= left_s:
            return None
        takes = f"takes about {duration(takes_s)}, " if takes_s else ""
        return f"{takes}{duration(max(0.0, left_s))} of the allocation are left"

    def took(self, run: RunSpec, elapsed_s: float) -> None:
        """The longest of this session counts."""
        known, key = self._of(run.suite), plan_estimate.key(run)
        known[key] = max(known.get(key, 0.0), elapsed_s)

    def _of(self, suite: str) -> dict[str, float]:
        if suite not in self._known:
            self._known[suite] = {} if self.end_s is None else plan_estimate.earlier(self.results, {suite})
        return self._known[suite]
