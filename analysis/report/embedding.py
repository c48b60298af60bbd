"""Data inside a page: JSON that cannot end its script element, column by column so that names stand once."""

from __future__ import annotations

import json
import math
from typing import Any

import polars as pl

SIGNIFICANT_DIGITS = 6
"""Of numbers in charts: more than a screen can show, half the bytes of a float's own text."""

# What could end a script element, open a comment in it, or end a line of it in older engines.
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def script_json(value: Any) -> str:
    """JSON for the inside of a <script>; NaN and infinities become null."""
    return json.dumps(_finite(value), allow_nan=False, ensure_ascii=False, separators=(",", ":")).translate(
        _ESCAPES
    )


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def columns(rows: pl.DataFrame) -> dict[str, Any]:
    """{column: values}; text that repeats as {"values": [distinct], "codes": [index of each row, null where null]}."""
    return {name: _column(rows.get_column(name)) for name in rows.columns}


def _column(values: pl.Series) -> Any:
    if values.dtype.is_float():
        return [_rounded(value) for value in values.to_list()]
    if values.dtype == pl.String:
        distinct = values.drop_nulls().unique(maintain_order=True)
        places = {value: code for code, value in enumerate(distinct)}
        return {"values": distinct.to_list(), "codes": [places.get(value) for value in values]}
    return values.to_list()


def _rounded(value: float | None) -> float | int | None:
    if value is None or not math.isfinite(value):
        return None
    rounded = float(f"{value:.{SIGNIFICANT_DIGITS}g}")
    return int(rounded) if rounded.is_integer() else rounded
