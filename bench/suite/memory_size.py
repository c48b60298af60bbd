"""Sizes of memory as people write them: `8GiB`, `1.5 GB`."""

from __future__ import annotations

import re

MEMORY_SIZE = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?) ?([kKMGT])(i?)B")
_EXPONENTS = {"k": 1, "K": 1, "M": 2, "G": 3, "T": 4}


def memory_size(text: str) -> int | None:
    """Bytes; null where the text is no size. `KiB` to `TiB` are powers of 1,024, `kB` to `TB` of 1,000."""
    match = MEMORY_SIZE.fullmatch(text)
    if match is None:
        return None
    base = 1024 if match[3] else 1000
    unit: int = base ** _EXPONENTS[match[2]]
    return round(float(match[1]) * unit)
