"""Charts of the report as self-contained pictures, each with its finding or question, how to read it, its legend, its
rows and its source."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import duckdb
import polars as pl
import vl_convert
from rich.cells import chop_cells

from analysis.errors import AnalysisError
from analysis.export.content import Content
from analysis.report import named_queries
from analysis.report.charts import all_charts
from analysis.report.drawing import theme
from analysis.report.drawing.chart import ROWS, Cases, Chart, distinct, drawing, sentences, specification
from analysis.report.pages.frame import asset
from analysis.tables.line_breaks import wrapped
from analysis.wording.plain_text import printable

_WIDTH = 640
"""CSS pixels. In a text column of 16 cm, text of 12 pixels is 9 points high."""
_FONT = "Arial, Helvetica, 'Liberation Sans', sans-serif"
"""These fonts have the same widths, so the text fits with any of them: one comes with vl-convert, machines have
others."""
_LINE = 104
"""Characters in a line of small print."""
_TITLE = 68
"""Characters in a line of the title."""
_PANELS = 2
_AXIS, _MARGIN = 70, 74
"""Between panels, as in the report's page."""
_CHANNELS = ("color", "shape", "strokeDash")


def draw(
    connection: duckdb.DuckDBPyConnection, found: Content, cases: Cases, wanted: str | None
) -> dict[str, tuple[str, str]]:
    """Name -> SVG and its origin, for every chart that has rows, or only for the chart `wanted`. `cases` are all of the
    session, so a case has the same colour with fewer cases. Raises AnalysisError if there is no such chart, or no row
    for it."""
    charts = all_charts()
    if wanted not in (None, *charts):
        raise AnalysisError(f"--chart: no chart {wanted!r}: there are {', '.join(charts)}")
    session_id = found.session["session_id"]
    caption, finding, origin = (
        printable(text) for text in (found.caption, found.sentence(), found.provenance())
    )
    drawn: dict[str, tuple[str, str]] = {}
    for name in charts if wanted is None else [wanted]:
        rows = named_queries.by_suite(named_queries.frame(connection, name, session_id), cases)
        if not rows.is_empty():
            pictures = svgs(name, charts[name], rows, cases, caption=caption, finding=finding, origin=origin)
            drawn |= {stem: (_described(svg, title, origin), origin) for stem, title, svg in pictures}
    if not drawn:
        session = f"session {session_id!r}"
        if wanted is None:
            raise AnalysisError(f"{session} has no data for any chart")
        raise AnalysisError(f"--chart {wanted}: {session} has no data for it")
    return drawn


def svgs(
    name: str, chart: Chart, rows: pl.DataFrame, cases: Cases, *, caption: str, finding: str, origin: str
) -> Iterator[tuple[str, str, str]]:
    """File name without ending, title and SVG of each picture of the chart; `rows` must not be empty. The title is
    `caption`; without one, it is `finding`, the session's headline, if the chart shows that, and else its question."""
    drawn = drawing(chart, rows, cases)
    question = drawn.question or chart.question
    title = caption or (finding if chart.shows_finding else question)
    values = [_finite(row) for row in rows.to_dicts()]
    for place, (label, view) in enumerate(drawn.views.items()):
        chosen = f"{drawn.choice.capitalize()}: {label}." if label else ""
        asked = question if title != question else ""
        said = sentences(asked, chosen, chart.reading, drawn.note, *_marks(rows))
        spec = _whole(_light(specification(view)), rows) | {"title": _title(title, said, f"Source: {origin}")}
        spec["datasets"] = {**spec.get("datasets", {}), ROWS: values}
        yield _stem(name, label, place), title, _render(spec)


def _title(title: str, *paragraphs: str) -> dict[str, Any]:
    lines = [line for said in paragraphs for line in _broken(said, _LINE)]
    return {"text": _broken(title, _TITLE), "subtitle": lines}


def _broken(text: str, width: int) -> list[str]:
    """The text in lines of at most `width` columns, in which a wide letter takes two; a longer word is divided."""
    return [part for line in wrapped(text, width) for part in chop_cells(line, width)] if text else []


def _marks(rows: pl.DataFrame) -> Iterator[str]:
    """The notes on points that a page shows next to its charts."""
    if "oversubscribed" in rows.columns and rows.get_column("oversubscribed").any():
        yield "Hollow: ranks had to share slots or cores."
    if "locality" in rows.columns and "across_nodes" in distinct(rows, "locality"):
        yield "Ring: across several nodes."


def _stem(name: str, label: str, place: int) -> str:
    """The first picture of a chart has the chart's name."""
    return f"{name}_{re.sub(r'[^a-z0-9]+', '_', label.lower()).strip('_')}" if place else name


def _render(spec: dict[str, Any]) -> str:
    svg: str = vl_convert.vegalite_to_svg(spec, config=_config(), allowed_base_urls=[])
    return _numbered(svg)


def _numbered(svg: str) -> str:
    """Renumber the clips from 0: Vega numbers them across pictures, so the same rows would give a different file."""
    places: dict[str, int] = {}
    return re.sub(
        r'(<clipPath id="|clip-path="url\(#)(clip\d+)',
        lambda found: f"{found[1]}clip{places.setdefault(found[2], len(places))}",
        svg,
    )


def _whole(spec: dict[str, Any], rows: pl.DataFrame) -> dict[str, Any]:
    """The specification with the width and the legends that a page adds."""
    spec = _legends(spec)
    if "facet" not in spec:
        return spec | {"width": _WIDTH, "autosize": {"type": "fit-x", "contains": "padding"}}
    columns = min(_PANELS, rows.get_column(spec["facet"]["field"]).n_unique())
    inner = spec["spec"] | {"width": _WIDTH // columns - _AXIS}
    spacing = {"column": _AXIS, "row": _MARGIN}
    return spec | {"spec": inner, "columns": columns, "bounds": "flush", "spacing": spacing}


def _legends(part: Any) -> Any:
    """The specification with legends in as many columns as fit. A single value needs no legend, unless it is the
    case's name: a picture has no page that names it."""
    if isinstance(part, list):
        return [_legends(item) for item in part]
    if not isinstance(part, dict):
        return part
    own = {key: _legends(item) for key, item in part.items() if key != "datasets"}
    own |= {key: item for key, item in part.items() if key == "datasets"}
    encodings = own.get("encoding", {})
    if encodings.get("size", {}).get("legend"):  # Vega would make the symbols as small as the line is wide
        encodings["strokeWidth"] = encodings.pop("size") | {"legend": None}
    for channel in _CHANNELS:
        encoding = encodings.get(channel, {})
        if "field" in encoding and encoding.get("legend", {}) is not None:
            encoding["legend"] = _legend(encoding, channel)
    return own


def _legend(encoding: dict[str, Any], channel: str) -> dict[str, Any] | None:
    own = encoding.get("legend") or {}
    values = own.get("values") or (encoding.get("scale") or {}).get("domain") or []
    if len(values) < (1 if encoding["field"] == "case_name" else 2):
        return None
    widest = max(len(str(value)) for value in values)
    columns = max(1, _WIDTH // (min(7 * widest, _LABEL) + 40))
    return own | {"columns": columns} | (_DASHES if channel == "strokeDash" else _SYMBOLS)


_LABEL = 260
"""Largest width of a name, in CSS pixels."""
_SYMBOLS = {"encoding": {"symbols": {"size": {"value": 100}, "opacity": {"value": 1}}}}
"""The same in every legend, even if the points are small or the bands are pale."""
_DASHES = {"symbolType": "stroke", "symbolSize": 600}
"""Long enough to show the dashes."""


def _config() -> dict[str, Any]:
    config: dict[str, Any] = _light(theme.vega_config())
    ink, muted = _colours()[theme.INK], _colours()[theme.MUTED]
    config["axis"]["labelLimit"] = 220
    return config | {
        "background": _colours()[theme.PAPER],
        "font": _FONT,
        "padding": 10,
        "legend": {
            "layout": {"top": {"direction": "vertical", "anchor": "start"}}, "rowPadding": 4, "orient": "top",
            "direction": "horizontal", "labelLimit": _LABEL, "labelColor": ink, "titleColor": muted,
            "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "symbolStrokeWidth": 2,
        },
        "title": {
            "anchor": "start", "frame": "bounds", "fontSize": 15, "color": ink, "offset": 12,
            "subtitleFontSize": 11, "subtitleColor": muted, "subtitleLineHeight": 14, "subtitlePadding": 5,
        },
    }  # fmt: skip


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    """The row with null for NaN and infinities, which JSON does not have; the report's pages do the same."""
    return {key: None if value in _NOT_FINITE or value != value else value for key, value in row.items()}  # noqa: PLR0124


_NOT_FINITE = (float("inf"), float("-inf"))


# The report's light colours as values: a picture has no style sheet that defines `var(--ink)`.

_NAMES = ("domain", "values", "oneOf", "equal")
"""Keys of a specification whose values are users' names; they stay unchanged."""


@cache
def _colours() -> dict[str, str]:
    """`var(--ink)` -> `#1a2026`, from the first rule of the report's style sheet."""
    rule = asset("base.css").partition(":root {")[2].partition("}")[0]
    return {f"var(--{name})": value.strip() for name, value in re.findall(r"--(\w+): ([^;]+);", rule)}


def _light(part: Any) -> Any:
    """A specification, or a part of it, with values in place of colour variables."""
    if isinstance(part, str):
        return _colours().get(part, part)
    if isinstance(part, list):
        return [_light(item) for item in part]
    if isinstance(part, dict):
        return {key: item if key in _NAMES else _light(item) for key, item in part.items()}
    return part


# Every exported SVG says where it comes from, so that a later export recognises it as its own.

MARK = "written by bench export"
"""Every picture contains it."""


def _described(svg: str, title: str, origin: str) -> str:
    """The SVG with a title and a description for screen readers and programs; neither is drawn."""
    marked = f"<title>{html.escape(title)}</title><desc>{html.escape(origin)}; {MARK}</desc>"
    return re.sub(r"<svg[^>]*>", lambda found: found[0] + marked, svg, count=1)
