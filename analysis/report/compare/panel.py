"""What the charts of a comparison share: the height of a panel, the first lines of a tooltip, what was left out."""

from __future__ import annotations

import altair as alt
import polars as pl

HEIGHT = 170
"""Of a panel's drawing, in CSS pixels."""


def note(rows: pl.DataFrame) -> str:
    kept, count = rows.get_column("panel").n_unique(), rows.get_column("of_all")[0]
    if kept == count:
        return ""
    return f"Drawn: the {kept} of {count:,} cases whose throughput differs most; the table of ratios has all."


def tooltip(*values: alt.Tooltip) -> list[alt.Tooltip]:
    return [alt.Tooltip("session_id:N", title="session"), alt.Tooltip("panel:N", title="case"), *values]
