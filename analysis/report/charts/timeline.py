"""One profiled step of all ranks over time: computation, hidden and exposed communication."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report.drawing import theme
from analysis.report.drawing.chart import Cases, Chart, Drawing, base, distinct, sentences

_PANELS = 6
"""Most placements that the reader can choose from."""
_PARTS = ("compute alone", "communication behind compute", "exposed communication")


def _draw(rows: pl.DataFrame, _cases: Cases) -> Drawing:
    every = distinct(rows, "panel")
    kept = every[-_PANELS:]
    colours = alt.Scale(domain=list(_PARTS), range=theme.PROFILE[: len(_PARTS)])
    drawn = rows.filter(pl.col("panel").is_in(kept))
    ranks = drawn.group_by("panel").agg(pl.col("rank").n_unique(), pl.col("rank_count").first())
    height = 60 + 16 * max(ranks.get_column("rank").to_list())  # the same for all views
    views = {}
    for panel in kept:
        of_panel = rows.filter(pl.col("panel") == panel)
        views[panel] = (
            base()
            .transform_filter(alt.FieldEqualPredicate(field="panel", equal=panel))
            .transform_filter(alt.FieldOneOfPredicate(field="part", oneOf=list(_PARTS)))
            .mark_bar()
            .encode(
                x=alt.X("begin_ms:Q", title="time since the first rank began the step (ms)"),
                x2="end_ms:Q",
                y=alt.Y("rank:O", title="rank", sort=sorted(distinct(of_panel, "rank"))),
                color=alt.Color("part:N", scale=colours, title=None),
                tooltip=[
                    alt.Tooltip("rank:O", title="rank"),
                    alt.Tooltip("part:N", title="mostly"),
                    alt.Tooltip("begin_ms:Q", title="from, ms", format=",.4~r"),
                    alt.Tooltip("end_ms:Q", title="until, ms", format=",.4~r"),
                ],
            )
            .properties(height=height)
        )
    note = sentences(
        ""
        if kept == every
        else f"Shown: the {len(kept)} largest of {len(every):,} placements; the data have all.",
        "Of more than 32 ranks only those with the most and the least exposed communication are drawn."
        if (ranks.get_column("rank") < ranks.get_column("rank_count")).any()
        else "",
    )
    return Drawing(views=views, choice="placement", note=note)


CHART = Chart(
    order=53,
    question="What does each rank do when?",
    reading="The first profiled step of the first ok repeat. A colour is what the rank did for "
    "most of a slice of 1/200 step; white: none of these, such as Python, copies or idle. On the common time axis "
    "collectives of all ranks end at the same moment; without such collectives every rank begins at zero.",
    draw=_draw,
    wide=True,
    section="steps",
)
