"""Which of a case's laws comes closer to the sizes that were measured."""

from __future__ import annotations

from typing import Any

_NAMES = {"amdahl": "Amdahl", "gustafson": "Gustafson"}
_DIGITS = 4
"""Of r², as they are shown."""


def closer(row: dict[str, Any]) -> str:
    """A sentence about a row of the table `scaling_law`; nothing where two laws were not fitted."""
    serial, universal = row["serial_r2"], row["r2"]
    if serial is None or universal is None:
        return ""
    name = _NAMES[row["serial_law"]]
    if round(serial, _DIGITS) == round(universal, _DIGITS):
        return f"{name} and the USL are equally close to the measured sizes."
    nearer, other = (name, "the USL") if serial > universal else ("The USL", name)
    return f"{nearer} is closer to the measured sizes than {other}."
