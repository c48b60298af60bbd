"""Files of the kernel below `/proc` and `/sys`. A container may leave one out, empty, or with other words in it: such a
figure is unknown, and never an error."""

from __future__ import annotations

import re
from pathlib import Path


def text_of(path: str | Path) -> str:
    """The text of a file of the kernel, without white space at its ends; empty if it cannot be read."""
    try:
        return Path(path).read_text(errors="replace").strip()
    except OSError:
        return ""


def numbers_of(text: str) -> list[int]:
    """The whole numbers of a text of nothing else, with white space between; empty if there is another word in it."""
    words = text.split()
    return (
        [int(word) for word in words]
        if all(re.fullmatch(r"-?\d{1,20}", word, re.ASCII) for word in words)
        else []
    )


def number_in(path: str | Path) -> int | None:
    """The number of a file that holds one whole number; null if it holds none, such as `max`."""
    found = numbers_of(text_of(path))
    return found[0] if len(found) == 1 else None
