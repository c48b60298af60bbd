"""The clock that every time stamp reads."""

from __future__ import annotations

from bench.doctor.facts import Facts
from bench.doctor.finding import Verdicts, ok, warn

_SLOW_NS = 500
"""A step has five stamps. Clocks that are read through the kernel (hpet, acpi_pm) take 1 µs or more per stamp."""


def check(facts: Facts) -> Verdicts:
    text = f"{facts.clock_source or 'unknown source'}, {facts.clock_read_ns:.0f} ns per reading"
    if facts.clock_read_ns < _SLOW_NS:
        yield ok(text)
    else:
        yield warn(
            f"{text}: stamps will disturb short steps", "let the kernel use tsc (clocksource=tsc at boot)"
        )
