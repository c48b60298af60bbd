"""Main memory that is available for ranks."""

from __future__ import annotations

from bench.doctor.facts import Facts
from bench.doctor.finding import Verdicts, ok, warn

_PER_RANK_BYTES = 10**9
"""A rank with torch and a small model takes about 0.65 GB."""


def check(facts: Facts) -> Verdicts:
    available = facts.memory_available_bytes
    ranks = facts.slots.slots_per_node if facts.slots else 1
    text = f"{available / 1e9:.1f} GB available"
    if available >= ranks * _PER_RANK_BYTES:
        yield ok(text)
        return
    yield warn(
        f"{text}, about 1 GB per rank is needed and this machine has {ranks} slots",
        "free memory or ask for more (Slurm: --mem), or run fewer ranks: --ranks-per-node",
    )
