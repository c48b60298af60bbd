"""A table of coverage.py: how often `bench compare` finds equal code faster or slower, by the candidate's sessions.

A baseline of five sessions is compared with a candidate of one, three and five, with ten repeats each; repeats of a
session vary by 1 %, sessions by more. The arithmetic is that of compare_sides: Welch on logs, over sessions if both
sides have several, else over all repeats.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

Array = np.ndarray[Any, np.dtype[Any]]
BASELINES = 5
CANDIDATES = (1, 3, 5)
REPEATS = 10
REPEATS_VARY = 0.01
SESSIONS_VARY = (0.01, 0.02, 0.03)
LIMIT = 0.05
LOSS = 0.1
"""The loss that a gate should find."""


def shares(candidates: int, sessions_vary: float, loss: float, draws: int, seed: int) -> tuple[float, float]:
    """Shares of comparisons that find a difference, and that fail the gate."""
    rng = np.random.default_rng([seed, candidates, round(1e3 * sessions_vary), round(1e3 * loss)])
    sides = [_logs(rng, draws, count, sessions_vary) for count in (BASELINES, candidates)]
    by_session = candidates > 1
    units = [side.mean(axis=2) if by_session else side.reshape(draws, -1) for side in sides]
    old, new = units[0], units[1] + np.log(1 - loss)
    found = stats.ttest_ind(new, old, axis=1, equal_var=False).confidence_interval(0.95)
    apart = (found.low > 0) | (found.high < 0)
    return float(apart.mean()), float((found.high < np.log(1 - LIMIT)).mean())


def _logs(rng: np.random.Generator, draws: int, sessions: int, sessions_vary: float) -> Array:
    """ln(throughput) by draw, session and repeat."""
    between = rng.normal(0, sessions_vary, (draws, sessions, 1))
    return between + rng.normal(0, REPEATS_VARY, (draws, sessions, REPEATS))


def lines(draws: int, seed: int) -> list[str]:
    """The table."""
    head = [
        "candidate",
        "sessions vary",
        "equal: faster or slower",
        "equal: gate fails",
        "loss 10 %: gate fails",
    ]
    rows = [head, ["---", *["---:"] * 4]]
    for candidates in CANDIDATES:
        for vary in SESSIONS_VARY:
            apart, fails = shares(candidates, vary, 0, draws, seed)
            finds = shares(candidates, vary, LOSS, draws, seed)[1]
            name = f"{candidates} session{'s' if candidates > 1 else ''}"
            rows.append(
                [name, f"{100 * vary:.0f} %", *(f"{100 * share:.1f} %" for share in (apart, fails, finds))]
            )
    return [f"| {' | '.join(row)} |" for row in rows]
