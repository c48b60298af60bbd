"""Amdahl's law: a fraction of the work is done by one worker while the others wait. Strong scaling."""

from __future__ import annotations

from analysis.laws.rational import rational_law

AMDAHL = rational_law(
    name="amdahl",
    overheads=lambda workers: (workers - 1)[:, None],
    upper=(1.0,),
    least_points=3,
    is_relative=True,
)
"""X(p) = gamma × p ÷ (1 + alpha (p - 1)), which is gamma ÷ (alpha + (1 - alpha) / p)."""
