"""Options that a preset fills in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.errors import InputError


def fill(options: Any, workload: str, presets: Mapping[str, Mapping[str, Any]]) -> None:
    """What is null in the options takes its preset's value, so that every record says the sizes themselves."""
    if options.preset not in presets:
        raise InputError(f"{workload}: preset is {options.preset!r}: there are {', '.join(presets)}")
    for name, value in presets[options.preset].items():
        if getattr(options, name) is None:
            object.__setattr__(options, name, value)  # they are frozen
