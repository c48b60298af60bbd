"""How long the rest of a session takes, as far as earlier runs tell."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bench.measure.recorder import LastStep
from bench.plan import estimate
from bench.records.run_spec import RunSpec

_ENOUGH_RUNS = 3
"""Runs of this session from whose mean the time of a run of unknown kind is guessed."""
_ENOUGH_STEPS = 3
"""Steps of a run from whose last the time of its other steps is guessed: the first ones take longer."""


@dataclass(kw_only=True)
class Remaining:
    """Times of runs in seconds: of this session, or else of earlier ones."""

    earlier: Mapping[str, float]
    """Seconds of a run by its key, from earlier sessions."""
    _took: dict[str, list[float]] = field(default_factory=dict)

    def took(self, spec: RunSpec, elapsed_s: float) -> None:
        """Note the time of a run that ended."""
        self._took.setdefault(estimate.key(spec), []).append(elapsed_s)

    def of_runs(self, specs: Iterable[RunSpec]) -> float | None:
        """Seconds that these runs take one after another; null while nothing is known of one of them."""
        total = 0.0
        for spec in specs:
            takes = self._seconds_of(spec)
            if takes is None:
                takes = self._mean()
            if takes is None:
                return None
            total += takes
        return total

    def of_begun(self, spec: RunSpec, elapsed_s: float, last: LastStep | None) -> float | None:
        """Seconds that a run still takes `elapsed_s` after its beginning and with this last step."""
        steps_s = None
        if last is not None and last.rows >= _ENOUGH_STEPS:
            steps_s = last.step_ns / 1e9 * (last.capacity - last.rows)
        takes = self._seconds_of(spec)
        if takes is None and steps_s is None:
            takes = self._mean()
        if takes is None:
            return steps_s
        return max(takes - elapsed_s, steps_s or 0.0)

    def _seconds_of(self, spec: RunSpec) -> float | None:
        kind = estimate.key(spec)
        return statistics.median(self._took[kind]) if kind in self._took else self.earlier.get(kind)

    def _mean(self) -> float | None:
        every = [seconds for took in self._took.values() for seconds in took]
        return statistics.mean(every) if len(every) >= _ENOUGH_RUNS else None


def left_text(seconds: float, *, may_grow: bool) -> str:
    """`about 2 min left`, or `2 min or more left` if further repeats may be added."""
    if seconds < 10:
        rough = "10 s"
        return f"{rough} or more left" if may_grow else f"less than {rough} left"
    if seconds < 55:
        rough = f"{-(-seconds // 10) * 10:.0f} s"
    elif seconds < 3570:
        rough = f"{max(1, round(seconds / 60))} min"
    else:
        minutes = round(seconds / 60)
        rough = f"{minutes // 60} h {minutes % 60:02} min"
    return f"{rough} or more left" if may_grow else f"about {rough} left"
