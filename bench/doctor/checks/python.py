"""The Python interpreter and its PYTHONPATH."""

from __future__ import annotations

import os

from bench.doctor.facts import Facts
from bench.doctor.finding import Verdicts, ok, warn


def check(facts: Facts) -> Verdicts:
    yield ok(facts.python)
    path = facts.environment.get("PYTHONPATH", "")
    if path and not {"", "."}.isdisjoint(path.split(os.pathsep)):
        yield warn(
            f"PYTHONPATH={path} names the current folder: Python imports its files before its own modules",
            "remove the entry: `.`, a colon at the beginning or end, or one of two in a row",
        )
