"""The frame of every page with charts: links to its parts, the parts themselves, and the scripts that draw."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from analysis.report import embedding, theme
from analysis.report.document import BASE_STYLES, asset, document
from analysis.report.markup import Section, attribute, navigation, sections

_NO_SCRIPT = (
    '<noscript><p class="empty">Charts and downloads need JavaScript; the tables do not.</p></noscript>'
)


def charted_page(
    *,
    title: str,
    file_name: str,
    opening: str,
    parts: Iterable[Section],
    footer: str,
    bundle: str,
    styles: Sequence[str] = (),
    meta: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """HTML. Files saved from the page begin with its `file_name`; `opening` and `footer` are HTML, `bundle` is the
    JavaScript that defines vegaEmbed, `styles` are the style sheets that only such a page has."""
    shown = list(parts)
    stem = file_name.removesuffix(".html")
    body = "".join(
        [
            '<a class="skip" href="#charts">Skip to the charts</a>',
            opening,
            f'<main data-stem="{attribute(stem)}">',
            navigation(shown),
            _NO_SCRIPT,
            sections(shown),
            "</main>",
            f"<footer>{footer}</footer>",
            f'<script type="application/json" id="vega-config">{embedding.script_json(theme.vega_config())}</script>',
        ]
    )
    return document(
        title=f"{title} · scalebench",
        body=body,
        scripts=[asset("columns.js"), asset("tables.js"), bundle, asset("charts.js")],
        styles=(*BASE_STYLES, *styles),
        meta=meta,
    )
