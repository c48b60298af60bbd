"""The ranks' time at each case and placement: the part that was used, and the parts that were lost."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report.drawing import theme
from analysis.report.drawing.bars import Parts, stacked
from analysis.report.drawing.chart import Cases, Chart, Drawing, distinct


def _draw(rows: pl.DataFrame, _cases: Cases) -> Drawing:
    names = distinct(rows.sort("part_order"), "part")
    orders = distinct(rows.sort("part_order"), "part_order")
    parts = Parts(
        part="part",
        names=names,
        colours=[theme.LOSSES[order] for order in orders],
        value="share",
        title="share of the ranks' time (%)",
        tooltip=[
            alt.Tooltip("share:Q", title="share", format=".1%"),
            alt.Tooltip("share_lo:Q", title="from", format=".1%"),
            alt.Tooltip("share_hi:Q", title="to", format=".1%"),
            alt.Tooltip("lost_ms:Q", title="of a rank's mean step, ms", format=",.3~r"),
            alt.Tooltip("known_by:N", title="known by"),
        ],
        kept="that lose most",
        form=".0%",
        pale_where="isValid(datum.share_lo) && datum.share_lo <= 0 && datum.share_hi >= 0",
        ranked_by="lost",
    )
    return stacked(rows, parts)


CHART = Chart(
    order=8,
    question="Where did the ranks' time go?",
    reading="The whole bar is the time of all ranks: 100 %. Used is the time that the baseline would have needed for "
    "as many examples, which is the efficiency; the rest was lost. Gains, parts that cost less here than at the "
    "baseline, are left of zero; the other parts then exceed 100 % by as much. Pale: the interval "
    "includes 0, so it may be nothing.",
    draw=_draw,
    wide=True,
    section="losses",
)
