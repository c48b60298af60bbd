"""A suite is stored whole, and printed in reports: what its names call a secret does not belong in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bench.suite.models import Case

_SECRET = re.compile(
    r"secret|passw(or)?d|passphrase|pwd$|credential|api_?key|access_?key|private_?key|(^|_)(token|key|auth)s?$"
)
_HARMLESS = re.compile(
    r"(^|_)((bos|cls|eos|mask|pad|sep|special|unk)_token|(cache|dict|foreign|group|input|map|output|primary|sort|state|target)_key)s?$"
)
"""Words of texts and of tables."""
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def told_secrets(case: Case) -> Iterator[tuple[tuple[str, ...], str]]:
    """Where each stands, and what to do instead."""
    for section, options in (("workload", case.workload.options), ("strategy", case.strategy.options)):
        for path in named(options, (section,)):
            yield (
                path,
                f"{'.'.join(path)} is named like a secret, and a suite is stored with its results: leave it out, and "
                "let the program read it from its environment; or give what is no secret another name",
            )


def named(options: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Keys of texts and lists of texts: a number is none, as in token_dropout."""
    for key, item in options.items():
        for part in item if isinstance(item, list) else [item]:
            if isinstance(part, Mapping):
                yield from named(part, (*path, str(key)))
            elif isinstance(part, str) and part and is_secret(str(key)):
                yield (*path, str(key))
                break


def is_secret(name: str) -> bool:
    """Whether an option's name says that its value is one."""
    words = _HUMP.sub("_", name).lower()
    return bool(_SECRET.search(words)) and not _HARMLESS.search(words)
