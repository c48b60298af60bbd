"""Why planned runs are skipped, in words that hold for several sizes."""

from __future__ import annotations

import re
from collections.abc import Iterable

OVERSUBSCRIBE_HINT = ": --oversubscribe runs it anyway, marked"
"""The end of a skip reason if there are too few slots."""
_TOO_FEW_SLOTS = re.compile(rf"needs \d+ slots, this \w+ has (\d+)({re.escape(OVERSUBSCRIBE_HINT)})?")


def kind_of(reason: str) -> str:
    """Equal for reasons that differ only in the number of slots that the size needs."""
    found = _TOO_FEW_SLOTS.fullmatch(reason)
    if found is None:
        return reason
    slots = int(found[1])
    more = f"they need more than {slots} slot{'s' * (slots != 1)}"
    return f"{more}; --oversubscribe runs them" if found[2] else more


def common(reasons: Iterable[str]) -> str:
    """The reason of sizes whose reasons are of one kind: their own if it is the same for all."""
    different = set(reasons)
    return different.pop() if len(different) == 1 else kind_of(different.pop())
