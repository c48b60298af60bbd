"""Which of two laws explains the runs of a case better, beyond what one coefficient more explains by chance."""

from __future__ import annotations

import numpy as np

from analysis.laws.fit import EXACT, REJECTED, Fit, f_tail

_CLEARLY = 2.0
"""Difference of AICc below which neither of two laws is clearly closer (Burnham and Anderson 2002)."""


def preferred(serial: Fit, universal: Fit) -> Fit | None:
    """The law to name; None if the runs do not decide, or if the one that they favour does not hold.

    Amdahl's law is the USL without coherency, so an F test decides. Gustafson's is no case of the USL: AICc decides."""
    if serial.law.is_within_universal:
        better = universal if beyond_amdahl_p(serial, universal) < REJECTED else serial
        return None if better.is_rejected else better
    holding = [one for one in (serial, universal) if not one.is_rejected]
    if len(holding) < 2:
        return holding[0] if holding else None
    difference = _aicc(serial) - _aicc(universal)
    if not abs(difference) > _CLEARLY:
        return None
    return universal if difference > 0 else serial


def beyond_amdahl_p(amdahl: Fit, universal: Fit) -> float:
    """p of the F test whether beta is 0: by how much coherency reduces the sum of squares, compared with the variance
    of a run by the USL."""
    return f_tail(
        max(amdahl.misfit - universal.misfit, 0) / max(universal.variance, EXACT**2), 1, universal.degrees
    )


def _aicc(one: Fit) -> float:
    """Akaike's information criterion, corrected for few runs; nan if they are too few."""
    runs = one.means.runs
    rounds = runs - one.means.degrees - len(one.means.workers)
    estimated = one.law.parameters + rounds + 1  # the variance, too
    if runs - estimated <= 1:
        return float("nan")
    variance = max(one.squares / runs, EXACT**2)
    return runs * float(np.log(variance)) + 2 * estimated * runs / (runs - estimated - 1)
