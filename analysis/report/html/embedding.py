"""Data in a page: JSON that cannot end its script element, by column, so that each name is written once."""

from __future__ import annotations

import base64
import gzip
import json
import math
from itertools import groupby
from typing import Any

import polars as pl
from markupsafe import Markup

from analysis.report.html.markup import trusted

SIGNIFICANT_DIGITS = 6
"""Digits of numbers in charts: more than a screen can show, and half the bytes of all digits."""

# Characters that could end a script element, open a comment in it or, in older engines, end a line.
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


LARGEST_PLAIN = 8_000
"""Characters of JSON that a page holds as it is; longer JSON is compressed, to a quarter or less."""


def script_json(value: Any) -> Markup:
    """JSON for the inside of a <script>; NaN and infinities become null."""
    return trusted(_written(value).translate(_ESCAPES))


def packed_json(value: Any) -> Markup:
    """Like `script_json`, but long JSON is {"gzip": base64 of its UTF-8 text}; assets/columns.js reads both."""
    written = _written(value)
    if len(written) > LARGEST_PLAIN:
        packed = gzip.compress(
            written.encode(), mtime=0
        )  # without a time, so that equal data are equal pages
        written = _dumps({"gzip": base64.b64encode(packed).decode()})
    return trusted(written.translate(_ESCAPES))


def unpacked(text: str) -> Any:
    """The value that `packed_json` wrote."""
    value = json.loads(text)
    if isinstance(value, dict) and value.keys() == {"gzip"}:
        return json.loads(gzip.decompress(base64.b64decode(value["gzip"])))
    return value


def _written(value: Any) -> str:
    try:
        return _dumps(value)
    except ValueError:
        return _dumps(_finite(value))


def _dumps(value: Any) -> str:
    return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def columns(rows: pl.DataFrame) -> dict[str, Any]:
    """{column: values}. Values are a list, or {"items": [...], "lengths": [...]} if many equal the one before. Text is
    {"values": [distinct texts], "codes": [indices]}, where codes are values as above and null is null."""
    return {name: _column(rows.get_column(name)) for name in rows.columns}


def _column(values: pl.Series) -> Any:
    if values.dtype.is_float():
        return _runs(_rounded(values))
    if values.dtype == pl.String:
        distinct = values.drop_nulls().unique(maintain_order=True)
        places = {value: code for code, value in enumerate(distinct)}
        return {
            "values": distinct.to_list(),
            "codes": _runs([places.get(value) for value in values.to_list()]),
        }
    return _runs(values.to_list())


def _runs(values: list[Any]) -> Any:
    """The values as runs of equal ones, if that halves the list."""
    runs = [(value, sum(1 for _ in group)) for value, group in groupby(values)]
    if 4 * len(runs) > len(values):
        return values
    return {"items": [value for value, _ in runs], "lengths": [length for _, length in runs]}


def _rounded(values: pl.Series) -> list[float | int | None]:
    finite = pl.DataFrame({"x": values}).select(
        pl.when(pl.col("x").is_finite()).then(pl.col("x").round_sig_figs(SIGNIFICANT_DIGITS))
    )
    return [_short(value) for value in finite.to_series().to_list()]


def _short(value: float | None) -> float | int | None:
    return int(value) if value is not None and value.is_integer() else value
