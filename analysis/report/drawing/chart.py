"""Charts, and the parts that they share: a colour per case, panels, limits on how much is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import altair as alt
import polars as pl
from altair.utils.schemapi import debug_mode

from analysis.report.drawing import theme
from analysis.wording.metric import metric_of

ROWS = "rows"
"""Name of the data in a specification; the page provides them once."""

Cases = Sequence[str]
"""All cases of the session in the order of the suite; each has the same colour and shape in every chart."""


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """The views of a chart, and a note on them."""

    views: Mapping[str, alt.TopLevelMixin]
    """Label -> view; the reader chooses a view by its label, and the first is shown first. All have the same height, so
    that the page does not move."""
    choice: str = ""
    """The property that the labels distinguish: `x axis`."""
    note: str = ""
    """A note on omitted rows; plain text."""
    question: str = ""
    """The title, if it depends on the rows."""
    is_labelled: bool = False
    """The lines have their names in the drawing, so that the page needs no legend."""


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A chart: a question, how to read the answer, and the drawing."""

    order: int
    """Place on the page."""
    question: str
    """The title."""
    reading: str
    """How to read the chart, and what was binned or left out; plain text."""
    draw: Callable[[pl.DataFrame, Cases], alt.TopLevelMixin | Drawing]
    """Takes the rows of the query, at least one, and all cases of the session. It names the data, but does not embed
    them."""
    wide: bool = False
    """The chart takes the page's whole width."""
    section: str = "charts"
    """Identifier of the page's section that shows the chart."""
    shows_finding: bool = False
    """The session's headline says what it shows, so it is the title of the exported picture."""


def metric_name(rows: pl.DataFrame) -> str:
    """The name of what the rows' validations score; without a column `metric` it is accuracy."""
    return metric_of(rows.get_column("metric").unique() if "metric" in rows.columns else ())


def sentences(*notes: str) -> str:
    """The notes that are not empty, as one text."""
    return " ".join(note for note in notes if note)


_SIZE = "placement"
MOST_SIZES = 6
"""The most placements whose lines can be distinguished."""


_DATA = alt.NamedData(ROWS)


class _Parts(alt.SchemaBase):
    """A chart whose copies share their parts. Altair deep-copies each layer several times while it composes charts,
    which takes half of a page's time. Sharing is safe: it sets attributes of a copy, but never changes a part."""

    def __deepcopy__(self, _: object) -> Self:
        copy = object.__new__(type(self))
        object.__setattr__(copy, "_args", self._args)
        object.__setattr__(copy, "_kwds", dict(self._kwds))
        return copy


class _Picture(_Parts, alt.Chart): ...


class _Layers(_Parts, alt.LayerChart): ...


def base() -> alt.Chart:
    """The start of a mark. All marks share one data object, because only such layers can be drawn in panels."""
    return _Picture(_DATA)


def once() -> alt.Chart:
    """The start of a mark that is drawn once, not once per row."""
    return _Picture(alt.InlineData(values=[{}]))


def layered(*layers: alt.Chart | alt.LayerChart, height: int | None = None) -> alt.LayerChart:
    """Layers on top of each other. It sets the height itself: Altair's `properties` would copy all layers."""
    drawn = _Layers(layer=list(layers))
    if height is not None:
        drawn["height"] = height
    return drawn


def drawing(chart: Chart, rows: pl.DataFrame, cases: Cases) -> Drawing:
    with debug_mode(False):  # Altair would check every part against its schema while the chart grows
        drawn = chart.draw(rows, cases)
    return drawn if isinstance(drawn, Drawing) else Drawing(views={"": drawn})


def specification(view: alt.TopLevelMixin) -> dict[str, Any]:
    """The Vega-Lite specification without data and settings, which the page has once."""
    spec: dict[str, Any] = view.to_dict(validate=False)
    return {key: value for key, value in spec.items() if key not in ("$schema", "config", "usermeta")}


def distinct(rows: pl.DataFrame, column: str) -> list[Any]:
    """The distinct values of a column, in order of appearance."""
    return rows.get_column(column).unique(maintain_order=True).to_list()


def coloured(rows: pl.DataFrame, cases: Cases, field: str = "case_name") -> list[str]:
    """The cases that have a colour: all of the session or, if there are more than colours, those of the chart."""
    return list(cases) if len(cases) <= theme.CATEGORIES else distinct(rows, field)


def case_colour(rows: pl.DataFrame, cases: Cases, field: str = "case_name") -> alt.Color:
    """A colour per case, the same in every chart of a page; cases after the eighth are grey. In a comparison the field
    is `session`, and `cases` are the names of the sessions."""
    named = coloured(rows, cases, field)
    colours = theme.categories(min(len(named), theme.CATEGORIES))
    scale = alt.Scale(domain=named, range=colours + [theme.GREY] * (len(named) - len(colours)))
    return alt.Color(f"{field}:N", scale=scale, title=None, legend=_present(rows, field))


def case_shape(rows: pl.DataFrame, cases: Cases, field: str = "case_name") -> alt.Shape:
    named = coloured(rows, cases, field)
    scale = alt.Scale(domain=named, range=theme.shapes(len(named)))
    return alt.Shape(f"{field}:N", scale=scale, title=None, legend=_present(rows, field))


def _present(rows: pl.DataFrame, field: str) -> alt.Legend:
    return alt.Legend(values=distinct(rows, field))


def placements(rows: pl.DataFrame) -> list[str]:
    """The placements from the smallest to the largest."""
    return distinct(rows.sort("workers", "placement"), "placement")


@dataclass(frozen=True, kw_only=True)
class FewSizes:
    """The placements that are drawn: few enough for lines and legends to distinguish."""

    rows: pl.DataFrame
    """Rows of these placements."""
    start: alt.Chart
    """A chart filtered to these placements, because the page's data have all rows."""
    note: str


def few_sizes(rows: pl.DataFrame) -> FewSizes:
    """The smallest placement, the largest and some in between; also the largest of each case that has none of these."""
    every = placements(rows)
    if len(every) <= MOST_SIZES:
        return FewSizes(rows=rows, start=base(), note="")
    spread = (len(every) - 1) / (MOST_SIZES - 1)
    kept = [every[round(place * spread)] for place in range(MOST_SIZES)]
    largest = rows.sort("workers", maintain_order=True).group_by("case_name", maintain_order=True)
    cases = largest.agg(pl.col("placement").is_in(kept).any().alias("has"), pl.col("placement").last())
    kept += cases.filter(~pl.col("has")).get_column("placement").unique(maintain_order=True).to_list()
    return FewSizes(
        rows=rows.filter(pl.col("placement").is_in(kept)),
        start=base().transform_filter(alt.FieldOneOfPredicate(field="placement", oneOf=kept)),
        note=f"Drawn: {len(kept)} of {len(every):,} placements; the data have all.",
    )


def size_colour(rows: pl.DataFrame) -> alt.Color:
    named = placements(rows)
    scale = alt.Scale(domain=named, range=theme.ramp(len(named)))
    return alt.Color("placement:O", scale=scale, title=_SIZE)


def size_width(rows: pl.DataFrame) -> alt.Size:
    """Line widths: small sizes thick, large ones thin and on top, so that lines that coincide stay visible."""
    sizes = sorted(distinct(rows, "workers"))
    widths = [min(1.4 + 1.8 * (len(sizes) - 1 - place), 10) for place in range(len(sizes))]
    scale = alt.Scale(type="ordinal", domain=sizes, range=widths)
    return alt.Size("workers:O", scale=scale, legend=None)  # Vega-Lite takes a line's width from its size


def size_dash(rows: pl.DataFrame) -> alt.StrokeDash:
    """Dashes by size, for lines whose colour has another meaning: the larger the size, the longer the dashes."""
    named = placements(rows)
    scale = alt.Scale(domain=named, range=theme.dashes(len(named)))
    return alt.StrokeDash("placement:O", scale=scale, title=_SIZE)


def kind_dash(kinds: Sequence[str]) -> alt.StrokeDash:
    """Dashes by kind, such as memory of GPUs and of CPUs: the first is solid, the second dashed, the third dotted."""
    scale = alt.Scale(domain=list(kinds), range=[[1, 0], [4, 3], [1, 2]][: len(kinds)])
    return alt.StrokeDash("kind:N", scale=scale, title=None)


def point_tooltip(*values: alt.Tooltip) -> list[alt.Tooltip]:
    """The first lines of the tooltip of a point over workers, then the values."""
    return [
        alt.Tooltip("case_name:N", title="case"),
        alt.Tooltip("placement:N", title=_SIZE),
        alt.Tooltip("repeats:Q", title="repeats"),
        *values,
        alt.Tooltip("oversubscribed:N", title="oversubscribed"),
    ]


def line_tooltip(*values: alt.Tooltip) -> list[alt.Tooltip]:
    """The first lines of the tooltip of a line over time or steps, then the values."""
    return [alt.Tooltip("case_name:N", title="case"), alt.Tooltip("placement:N", title=_SIZE), *values]


def limit_note(rows: pl.DataFrame, column: str, which: str) -> str:
    """A note if the query kept only some panels. Its column `panel_count` counts all of them."""
    kept, count = len(distinct(rows, column)), rows.get_column("panel_count")[0]
    return "" if kept == count else f"Shown: {kept} of {count:,}, {which}; the SQL says how they were chosen."


def panels(
    drawing: alt.Chart | alt.LayerChart, column: str, rows: pl.DataFrame, height: int
) -> alt.FacetChart:
    """One small chart per value of a column. The page sets their width and the number in a row."""
    # The heading is a mark: Vega's own header is placed by the size of the panel's labels, each at another height.
    heading = base().transform_aggregate(groupby=[column])
    heading = heading.mark_text(
        x=0,
        y=-12,
        align="left",
        baseline="bottom",
        fontSize=12,
        fontWeight=600,
        color=theme.INK,
        limit=260,
    ).encode(text=alt.Text(f"{column}:N"))
    facet = alt.Facet(
        f"{column}:N", header=alt.Header(title=None, labelExpr="''"), sort=distinct(rows, column)
    )
    faceted = layered(drawing, heading, height=height).facet(facet, columns=1)
    own_axes: alt.FacetChart = faceted.resolve_axis(x="independent", y="independent")
    return own_axes
