"""The picture of a comparison: the ratio of each case and size with its interval, one below the other."""

from __future__ import annotations

import math

import altair as alt
import polars as pl
from markupsafe import Markup

from analysis.report import named_queries
from analysis.report.drawing import theme
from analysis.report.drawing.chart import Cases, Chart, Drawing, base, distinct, layered, once
from analysis.report.drawing.figure import figure
from analysis.report.pages.comparison.data import MARGIN, MAX_REGRESSION, ComparedSessions, flat_ids

MOST_ROWS = 40
"""The most ratios that are drawn; if there are more, those furthest from 1."""
_ROW_HEIGHT = 26
"""CSS pixels."""
_WIDEST = 2.0
"""Intervals are cut at the most extreme ratio times or divided by this."""
_TITLE = "throughput, candidate ÷ baseline"
_TONES = {"faster": "var(--good)", "slower": "var(--bad)"}
"""Colours of what is certain; every other ratio is grey."""


def forest(comparison: ComparedSessions) -> Markup:
    """The chart; empty if nothing has a ratio."""
    parts = [
        found.with_columns(
            pl.lit(side.letter).alias("candidate"), pl.lit(comparison.baseline.letter).alias("baseline")
        )
        for side, found in zip(comparison.candidates, comparison.ratios, strict=True)
    ]
    rows = pl.concat(parts, how="vertical_relaxed").filter(pl.col("ratio").is_not_null())
    if rows.is_empty():
        return Markup()
    several = len(parts) > 1
    size = pl.format("{} {}", "case_name", "placement")
    label = pl.format("{}: {}", "candidate", size) if several else size
    rows = rows.with_columns(
        label.alias("label"),
        pl.col("verdict", "verdict_text").fill_null("no verdict"),
        pl.len().alias("ratio_count"),
        *(pl.col(name).cast(pl.Float64) for name in ("ratio", "ratio_lo", "ratio_hi")),
    )
    kept = rows.top_k(MOST_ROWS, by=pl.col("ratio").log().abs()).get_column("label")
    rows = rows.filter(pl.col("label").is_in(kept.to_list()))
    columns = [
        "label",
        "candidate",
        "case_name",
        "placement",
        "ratio",
        "ratio_lo",
        "ratio_hi",
        "verdict",
        "verdict_text",
        "ratio_count",
    ]
    baseline, *others = flat_ids(comparison)
    sql = "\n\n".join(
        named_queries.pasteable(
            "ratios", baseline=baseline, candidate=other, margin=MARGIN, limit=MAX_REGRESSION
        )
        for other in others
    )
    origin = f"sessions {', '.join(one.session_id for one in comparison.sessions)}"
    return figure("forest", CHART, rows.select(columns), [], sql, origin=origin)


def _draw(rows: pl.DataFrame, _: Cases) -> Drawing:
    ratios = rows.get_column("ratio")
    ends = [1 - MARGIN, 1 + MARGIN, *ratios.to_list()]
    low, high = min(ends) / _WIDEST, max(ends) * _WIDEST
    low = max(low, min([*ends, *rows.get_column("ratio_lo").drop_nulls().to_list()]))
    high = min(high, max([*ends, *rows.get_column("ratio_hi").drop_nulls().to_list()]))
    edge = (high / low) ** 0.04
    scale = alt.Scale(type="log", domain=[low / edge, high * edge], nice=False)
    ticks = _ticks(low / edge, high * edge)
    x = alt.X(
        "ratio:Q",
        title=_TITLE,
        scale=scale,
        axis=alt.Axis(values=ticks, format="~r"),
    )
    y = alt.Y("label:N", title=None, sort=distinct(rows, "label"), axis=alt.Axis(domain=False, ticks=False))
    kinds = distinct(rows, "verdict")
    colours = alt.Scale(domain=kinds, range=[_TONES.get(kind, theme.GREY) for kind in kinds])
    colour = alt.Color("verdict:N", scale=colours, title=None, legend=None)
    shape = alt.Shape(
        "verdict:N", scale=alt.Scale(domain=kinds, range=["circle" if kind in _TONES else "square" for kind in kinds]),
        legend=None,
    )  # fmt: skip
    tooltip = [
        alt.Tooltip("label:N", title="case"),
        alt.Tooltip("ratio:Q", title="ratio", format=".3~f"),
        alt.Tooltip("ratio_lo:Q", title="from", format=".3~f"),
        alt.Tooltip("ratio_hi:Q", title="to", format=".3~f"),
        alt.Tooltip("verdict_text:N", title="verdict"),
    ]
    same = once().mark_rect(color=theme.MUTED, opacity=0.15)
    same = same.encode(x=alt.XDatum(1 - MARGIN), x2=alt.X2Datum(1 + MARGIN))
    one = once().mark_rule(color=theme.MUTED, strokeDash=[5, 4], strokeWidth=1.5).encode(x=alt.XDatum(1))
    start = base().encode(y=y, color=colour)
    interval = start.mark_rule(strokeWidth=2, clip=True).encode(
        x=alt.X("ratio_lo:Q", title=_TITLE, scale=scale), x2="ratio_hi:Q"
    )
    points = start.mark_point(size=90, filled=True, opacity=1).encode(x=x, shape=shape, tooltip=tooltip)
    count = rows.get_column("ratio_count")[0]
    is_cut = any(
        (row["ratio_hi"] or 1) > high * 1.001 or (row["ratio_lo"] or 1) < low / 1.001
        for row in rows.to_dicts()
    )
    notes = [
        f"Drawn: the {rows.height} of {count:,} furthest from 1; the table has all." * (rows.height < count),
        "Intervals cut at the edge continue." * is_cut,
    ]
    view = layered(same, one, interval, points, height=60 + _ROW_HEIGHT * rows.height)
    return Drawing(views={"": view}, note=" ".join(filter(None, notes)), is_labelled=True)


def _ticks(low: float, high: float) -> list[float]:
    """About seven round ratios; far apart ones are powers of two."""
    if high / low > 3:
        return [2.0**power for power in range(math.floor(math.log2(low)), math.ceil(math.log2(high)) + 1)]
    step = next(step for step in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5) if (high - low) / step <= 8)
    return [round(step * place, 2) for place in range(math.ceil(low / step), math.floor(high / step) + 1)]


CHART = Chart(
    order=0,
    question="Which sizes are faster or slower?",
    reading="Throughput of the candidate ÷ that of the baseline, with its 95 % interval. Coloured circles: the "
    "interval excludes 1, also after Holm's correction over all rows. Grey squares: no certain difference, or no "
    f"verdict. Shaded: 1 ± {100 * MARGIN:.0f} %.",
    draw=_draw,
    wide=True,
)
