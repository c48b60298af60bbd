"""Bytes as text."""

from __future__ import annotations

_UNITS = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))


def size_text(size_bytes: float) -> str:
    """`12.3 GiB`, in the largest unit that gives at least 1."""
    name, unit = unit_for(size_bytes)
    return f"{three_digits(size_bytes / unit)} {name}"


def unit_for(size_bytes: float) -> tuple[str, int]:
    """Name and bytes of the largest unit that the size reaches; KiB for less."""
    return next((one for one in _UNITS if size_bytes >= one[1]), _UNITS[-1])


def three_digits(value: float) -> str:
    """`0.123`, `12.3`; all digits before the point."""
    return f"{value:.3g}" if value < 999.5 else f"{value:,.0f}"
