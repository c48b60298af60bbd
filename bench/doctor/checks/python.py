"""The interpreter that runs this."""

from __future__ import annotations

import os

from bench.doctor.facts import Facts
from bench.doctor.finding import Verdicts, ok, warn


def check(facts: Facts) -> Verdicts:
    yield ok(facts.python)
    path = facts.environment.get("PYTHONPATH", "")
    if path and "" in path.split(os.pathsep):
        yield warn(
            f"PYTHONPATH={path} has an empty entry: Python imports files of the current folder before its own modules",
            "remove the colon at its beginning or end, or one of two in a row",
        )
