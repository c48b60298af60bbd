"""Main memory that is available for ranks."""

from __future__ import annotations

from bench.doctor.facts import Facts
from bench.doctor.finding import Verdicts, ok, warn

_PER_RANK_BYTES = 2**30
"""A rank with torch and a small model takes about 0.6 GiB."""


def check(facts: Facts) -> Verdicts:
    available = facts.memory_available_bytes
    ranks = facts.slots.slots_per_node if facts.slots else 1
    text = f"{available / 2**30:.1f} GiB available"
    if available >= ranks * _PER_RANK_BYTES:
        yield ok(text)
        return
    yield warn(
        f"{text}, about 1 GiB per rank is needed and this machine has {ranks} slots",
        "free memory or ask for more (Slurm: --mem), or run fewer ranks: --ranks-per-node",
    )
