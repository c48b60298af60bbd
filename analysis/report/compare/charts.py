"""Curves of the sessions over each other: a colour for each session, a panel for each case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair as alt
import polars as pl

from analysis.report import frames
from analysis.report.chart import Chart, distinct
from analysis.report.compare.contents import Comparison
from analysis.report.compare.over_steps import over_steps
from analysis.report.compare.over_workers import Measure, over_workers
from analysis.report.figures import figure

MOST_PANELS = 12
"""Cases that are drawn; of more those with the largest differences."""


def figures(comparison: Comparison) -> str:
    """HTML; nothing where no run is ok."""
    names = [side.name for side in comparison.sides]
    session_ids = [side.session_id for side in comparison.sides]
    drawn = [
        figure(
            kind.name,
            kind.chart,
            rows,
            names,
            frames.pasteable(kind.query, session_ids=session_ids),
            origin=f"sessions {', '.join(session_ids)}",
        )
        for kind in _KINDS
        if not (rows := _rows(comparison, kind)).is_empty()
    ]
    return f'<div class="charts">{"".join(drawn)}</div>' if drawn else ""


@dataclass(frozen=True, kw_only=True)
class _Kind:
    name: str
    query: str
    value: str
    chart: Chart


def _rows(comparison: Comparison, kind: _Kind) -> pl.DataFrame:
    """Of the cases that are drawn, those that have the value; `of_all` counts the cases."""
    rows = comparison.curves if kind.query == "compare_curves" else comparison.learning
    is_drawn = pl.col(kind.value).is_not_null()
    rows = rows.filter(is_drawn | pl.col("nonfinite") if kind.value == "loss" else is_drawn)
    kept = _shown(distinct(rows, "panel"), comparison)
    rows = rows.with_columns(pl.col("panel").n_unique().alias("of_all")).filter(pl.col("panel").is_in(kept))
    order = pl.col("panel").replace_strict({panel: place for place, panel in enumerate(kept)}, default=None)
    empty = [name for name in rows.columns if rows.get_column(name).null_count() == rows.height]
    return rows.sort(order, maintain_order=True).drop([name for name in empty if name != kind.value])


def _shown(names: Sequence[str], comparison: Comparison) -> list[str]:
    """In the order of the suites; where they are too many those with the largest ratio, either way. A panel is named
    by its case, or by its case and placement."""
    cases = list(dict.fromkeys(case for side in comparison.sides for case in side.cases))
    places = {case: place for place, case in enumerate(cases)}
    largest = _largest_ratios(comparison)

    def case_of(panel: str) -> str:
        return panel if panel in places else panel.rpartition(" ")[0]

    ordered = sorted(names, key=lambda panel: places.get(case_of(panel), len(places)))
    most = sorted(ordered, key=lambda panel: -largest.get(case_of(panel), -1.0))[:MOST_PANELS]
    return [panel for panel in ordered if panel in most]


def _largest_ratios(comparison: Comparison) -> Mapping[str, float]:
    """|ln ratio| by case."""
    rows = pl.concat(
        [frame.select("case_name", pl.col("ratio").cast(pl.Float64)) for frame in comparison.ratios]
    )
    largest = rows.drop_nulls().group_by("case_name").agg(pl.col("ratio").log().abs().max())
    return dict(largest.iter_rows())


_CHOSEN = "Of each case the largest placement that most sessions have, its first ok repeat."

_MEASURES = [
    Measure(field="throughput", title="examples/s", form=",.4~r", unit="examples/s", labels=",~f"),
    Measure(field="speedup", title="speedup (×)", form=".3~f", unit="×", ideal="workers"),
    Measure(field="efficiency", title="efficiency (%)", form=".1%", labels=".0%", ideal="1"),
]
_KINDS = [
    *(
        _Kind(name=measure.field, query="compare_curves", value=measure.field, chart=over_workers(measure))
        for measure in _MEASURES
    ),
    _Kind(
        name="training_loss",
        query="compare_learning",
        value="loss",
        chart=over_steps(
            "loss",
            "training loss",
            "Does the training loss fall alike?",
            f"{_CHOSEN} Loss, no unit: mean over ranks, warm-up included; beyond 150 steps means of 100 bins.",
            alt.Axis(tickCount=4),
        ),
    ),
    _Kind(
        name="validation_accuracy",
        query="compare_learning",
        value="val_accuracy",
        chart=over_steps(
            "val_accuracy",
            "validation accuracy (%)",
            "Does it become as accurate?",
            f"{_CHOSEN} One point per validation.",
            alt.Axis(tickCount=4, format=".0%"),
        ),
    ),
]
