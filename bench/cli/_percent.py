"""A share that is said as `5%` or as 0.05."""

from __future__ import annotations

import re

import click


class _Percent(click.ParamType[float]):
    name = "percent"

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """A fraction from 0 to below 1."""
        said = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(%?)\s*", str(value))
        if said is None:
            self.fail(f"{value!r} is no share: write 5% or 0.05", param, ctx)
        fraction = float(said[1]) / (100 if said[2] else 1)
        if fraction >= 1:
            self.fail(
                f"{value!r} is {100 * fraction:g} %: write a share below 100 %, as 5% or 0.05", param, ctx
            )
        return fraction


PERCENT = _Percent()
