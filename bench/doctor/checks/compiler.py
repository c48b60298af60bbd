"""The compiler that torch.compile calls."""

from __future__ import annotations

from bench.doctor.facts import Facts
from bench.doctor.finding import Verdicts, ok, warn


def check(facts: Facts) -> Verdicts:
    if facts.compiler is not None:
        yield ok(f"{facts.compiler} for torch.compile")
    else:
        yield warn(
            "no C++ compiler: cases with train.compile: true will fail",
            "install g++ (Debian: apt install g++), or set CXX",
        )
