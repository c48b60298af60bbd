"""The report's light colours as values: a picture has no style sheet that would say what `var(--ink)` is."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from analysis.report.document import asset

_NAMES = ("domain", "values", "oneOf", "equal")
"""Keys of a specification that hold names of users, which are left alone."""


@cache
def colours() -> dict[str, str]:
    """`var(--ink)` -> `#1a2026`, from the first rule of the report's style sheet."""
    rule = asset("base.css").partition(":root {")[2].partition("}")[0]
    return {f"var(--{name})": value.strip() for name, value in re.findall(r"--(\w+): ([^;]+);", rule)}


def light(part: Any) -> Any:
    """A specification, or a part of it, with the colours in it."""
    if isinstance(part, str):
        return colours().get(part, part)
    if isinstance(part, list):
        return [light(item) for item in part]
    if isinstance(part, dict):
        return {key: item if key in _NAMES else light(item) for key, item in part.items()}
    return part
