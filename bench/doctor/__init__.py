"""Can this machine run suites, and if not, what would mend it? Facts are gathered once; every check judges them."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

from bench.doctor import checks
from bench.doctor.facts import Facts
from bench.doctor.finding import Finding

_ORDER = [
    "python", "cpu", "memory", "gpu", "slots", "torch", "communication", "slurm", "container", "disk",
]  # fmt: skip
"""From the machine to its details; checks that are not named here follow by name."""


def names() -> list[str]:
    """The checks, in the order in which they are told."""
    found = [module.name for module in pkgutil.iter_modules(checks.__path__)]
    return sorted(found, key=lambda name: (_ORDER.index(name) if name in _ORDER else len(_ORDER), name))


def judge(facts: Facts) -> list[Finding]:
    """Every check's findings about `facts`."""
    return [
        Finding(topic=name, level=verdict.level, text=verdict.text, remedy=verdict.remedy)
        for name in names()
        for verdict in importlib.import_module(f"{checks.__name__}.{name}").check(facts)
    ]


def examine(results: Path) -> list[Finding]:
    """Findings about this machine, with `results` as the folder that sessions would be written to."""
    from bench.doctor.gather import gather

    return judge(gather(results))
