"""What training reaches over steps: a colour for each session, a panel for each case."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report.chart import Cases, Chart, Drawing, base, case_colour, layered, panels
from analysis.report.compare.panel import HEIGHT, note, tooltip
from analysis.report.nonfinite import crosses, has_nonfinite, nonfinite_note


def over_steps(field: str, title: str, question: str, reading: str, axis: alt.Axis) -> Chart:
    def draw(rows: pl.DataFrame, names: Cases) -> Drawing:
        start = base().encode(
            x=alt.X(
                "step:Q", title="step", scale=alt.Scale(zero=True), axis=alt.Axis(format="d", tickCount=4)
            ),
            y=alt.Y(f"{field}:Q", title=title, scale=alt.Scale(zero=False), axis=axis),
            color=case_colour(rows, names, "session"),
            tooltip=tooltip(
                alt.Tooltip("repeat:Q", title="repeat"),
                alt.Tooltip("step:Q", title="step"),
                alt.Tooltip(f"{field}:Q", title=title, format=".5~r"),
            ),
        )
        layers = [start.mark_line()]
        if field == "val_accuracy":  # often measured once, of which a line shows nothing
            layers.append(start.mark_point(size=60, filled=True, opacity=1))
        if has_nonfinite(rows, field):
            layers.append(crosses(start, field))
        said = " ".join(filter(None, [note(rows), _nonfinite(rows, field)]))
        return Drawing(views={"": panels(layered(*layers), "panel", rows, HEIGHT)}, note=said)

    return Chart(order=0, question=question, reading=reading, draw=draw, wide=True)


def _nonfinite(rows: pl.DataFrame, field: str) -> str:
    """A curve is named by its session and its panel, the case with its placement."""
    return nonfinite_note(rows.select("step", field, case_name="session", placement="panel"), field)
