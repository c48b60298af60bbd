"""The container around this process, if there is one."""

from __future__ import annotations

from bench.doctor.facts import Facts
from bench.doctor.finding import Verdicts, ok


def check(facts: Facts) -> Verdicts:
    if facts.container is None:
        yield ok("none")
        return
    image = facts.environment.get("APPTAINER_CONTAINER")
    yield ok(facts.container + (f", image {image}" if image else ""))
