"""Where a rank is, by the stacks that faulthandler has written into its log."""

from __future__ import annotations

import os
import re
from pathlib import Path

_TAIL_BYTES = 1 << 16
"""Of the log; far more than one rank's stacks."""
_STACK = re.compile(r"^(?:Current thread|Thread) 0x.*\n((?:  .*\n)+)", re.M)
_FRAME = re.compile(r'  File "(.*)", line (\d+) in (.*)')


def outside_torch(log: Path) -> str | None:
    """`held.py:12, in wait`: where the rank's own code is. Null where torch has the word, as in a collective, or
    where no stack was written."""
    stacks = _STACK.findall(_tail(log)) if log.exists() else []
    innermost = _FRAME.match(stacks[-1]) if stacks else None  # the main thread's comes last
    if innermost is None or "/torch/" in innermost[1]:
        return None
    return f"{Path(innermost[1]).name}:{innermost[2]}, in {innermost[3]}"


def _tail(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL_BYTES))
        return file.read().decode(errors="replace")
