"""What ended a rank, in one line for its row; the whole traceback is in its log."""

from __future__ import annotations

import re

_IN_A_LOADER = re.compile(r"Caught \w+ in DataLoader worker process \d+\.\nOriginal ")


def describe(error: BaseException) -> str:
    """Type and first line of the message, 2,000 characters at most."""
    message = str(error).strip()
    if _IN_A_LOADER.match(message):
        return _from_a_loader(type(error).__name__, message)[:2000]
    return f"{type(error).__name__}: {message.splitlines()[0] if message else 'no message'}"[:2000]


def _from_a_loader(name: str, message: str) -> str:
    """DataLoader's message is the traceback of its process: what was raised stands behind the last frame."""
    lines = message.splitlines()
    frames = [number for number, line in enumerate(lines) if line.startswith("  ")]
    if not frames or frames[-1] + 1 >= len(lines):
        return f"{name}: {lines[0]}"
    _, _, raised = lines[frames[-1] + 1].partition(": ")
    return f"{name} in a loader process: {raised or 'no message'}"
