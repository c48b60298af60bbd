"""Options that a preset fills in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.common.errors import InputError


def fill(options: Any, workload: str, presets: Mapping[str, Mapping[str, Any]]) -> None:
    """Replace null options by the preset's values, so that every record contains the sizes themselves.

    Raises InputError for an unknown preset."""
    if options.preset not in presets:
        raise InputError(f"{workload}: preset is {options.preset!r}: there are {', '.join(presets)}")
    for name, value in presets[options.preset].items():
        if getattr(options, name) is None:
            object.__setattr__(options, name, value)  # they are frozen
