"""Values as text that a person reads."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import Any


def cell(value: Any) -> str:
    """A value as text; empty for null. The caller must make it safe for its format."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    if isinstance(value, float):
        return number(value)
    return str(value)


def printable(text: str, keep: str = "") -> str:
    """Untrusted text, safe for a terminal: invisible characters, except `keep`, become escapes such as `\\u202e`."""
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text)


def word(text: str, name: Callable[[str], str]) -> str:
    """A word of a fixed set, such as a precision. A file may have any other text instead, which `name` quotes."""
    return text if re.fullmatch(r"[a-z0-9_]{1,40}", text) else name(text)


def number(value: float, digits: int = 6, *, strip: bool = True) -> str:
    """A number with `digits` significant digits. Only a very small or large one has an exponent. `strip` drops final
    zeros."""
    if not math.isfinite(value) or value == 0 or not 1e-4 <= abs(value) < 1e15:
        return f"{value:.{digits}g}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{decimals}f}" if abs(value) >= 10_000 else f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if strip and "." in text else text


_BYTES = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))


def bytes_text(count: float, digits: int = 4, *, strip: bool = True) -> str:
    """The size as text: `1 KiB`, `20.5 GiB`; `digits` and `strip` as in `number`."""
    factor, unit = next(one for one in _BYTES if abs(count) >= one[0] or one[0] == 1)
    return f"{number(count / factor, digits, strip=strip)} {unit}".replace("-", "\u2212")


def counted(count: int, nouns: str) -> str:
    """`1,024 ranks`, `1 rank`; `nouns` is a plural with an s."""
    return f"{count:,} {nouns.removesuffix('s') if count == 1 else nouns}"


def listed(names: Iterable[str], most: int) -> str:
    """`a, b and 3 more`."""
    every = list(names)
    more = f" and {len(every) - most:,} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more
