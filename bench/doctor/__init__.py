"""Can this machine run suites, and if not, how to fix it? Facts are gathered once, and every check judges them."""

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
"""Order in which checks are shown; other checks follow by name."""


def names() -> list[str]:
    """Names of the checks, in the order in which they are shown."""
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
    """Findings about this machine. `results` is the folder for sessions; it need not exist."""
    from bench.doctor.gather_facts import gather

    return judge(gather(results))
