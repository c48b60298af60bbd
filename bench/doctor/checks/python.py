"""The interpreter that runs this."""

from __future__ import annotations

from bench.doctor.facts import Facts
from bench.doctor.finding import Verdicts, ok


def check(facts: Facts) -> Verdicts:
    yield ok(facts.python)
