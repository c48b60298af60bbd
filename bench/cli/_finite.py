"""Numbers on the command line that are numbers."""

from __future__ import annotations

import math
from typing import Any

import click


class Finite(click.FloatRange):
    """A range that neither nan nor inf is in; click lets both pass."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number
