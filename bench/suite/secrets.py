"""A suite is stored whole, and printed in reports: what its names call a secret does not belong in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bench.suite.models import Case

_SECRET = re.compile(
    r"secret|passw(or)?d|passphrase|credential|api_?key|access_?key|private_?key|(^|_)(token|key|auth)$",
    re.IGNORECASE,
)


def told_secrets(case: Case) -> Iterator[tuple[tuple[str, ...], str]]:
    """Where each stands, and what to do instead."""
    for section, options in (("workload", case.workload.options), ("strategy", case.strategy.options)):
        for path in _named(options, (section,)):
            yield (
                path,
                f"{'.'.join(path)} is named like a secret, and a suite is stored with its results: leave it out, and "
                "let the program read it from its environment; or give what is no secret another name",
            )


def _named(options: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Keys of texts alone: a number is none, as in token_dropout."""
    for key, item in options.items():
        if isinstance(item, Mapping):
            yield from _named(item, (*path, str(key)))
        elif isinstance(item, str) and item and _SECRET.search(str(key)):
            yield (*path, str(key))
