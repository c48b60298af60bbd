"""The frame of every page: an HTML document whose policy loads nothing and runs only its own scripts."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from markupsafe import Markup

from analysis.report.drawing import theme
from analysis.report.html import embedding
from analysis.report.html.markup import Section, trusted
from analysis.report.html.render import render

_ASSETS = Path(__file__).parents[1] / "assets"
_STYLES = ("base", "tables", "charts")
"""Style sheets of every page."""


def asset(name: str) -> Markup:
    return trusted((_ASSETS / name).read_text(encoding="utf-8"))


def charted_page(
    template: str,
    *,
    title: str,
    file_name: str,
    sections: Iterable[Section],
    bundle: str,
    styles: Sequence[str],
    meta: Mapping[str, str] = MappingProxyType({}),
    **values: Any,
) -> str:
    """The HTML of a page with charts, from a template that extends charted_page.html.

    Files saved from the page start with its `file_name`; `bundle` is JavaScript that defines vegaEmbed. Vega's
    interpreter draws the charts, so the policy needs neither unsafe-eval nor unsafe-inline.
    """
    return document(
        template,
        title=title,
        scripts=[*map(asset, ("columns.js", "tables.js", "folds.js")), trusted(bundle), asset("charts.js")],
        styles=styles,
        meta=meta,
        sections=[section for section in sections if section.content],
        stem=file_name.removesuffix(".html"),
        vega_config=embedding.script_json(theme.vega_config()),
        **values,
    )


def document(
    template: str,
    *,
    title: str,
    scripts: Sequence[Markup] = (),
    styles: Sequence[str] = (),
    meta: Mapping[str, str] = MappingProxyType({}),
    **values: Any,
) -> str:
    """The HTML of a page from a template that extends document.html. `styles` are added to those of every page, and
    `scripts` run in this order. `meta` maps names of <meta> elements to their contents."""
    style = Markup().join(asset(f"{name}.css") for name in (*_STYLES, *styles))
    allowed = " ".join(map(_hash, scripts)) or "'none'"
    policy = (
        f"default-src 'none'; script-src {allowed}; style-src {_hash(style)}; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
    page = render(
        template, title=title, meta=meta, policy=trusted(policy), style=style, scripts=scripts, **values
    )
    return f"{page}\n"


def _hash(content: str) -> str:
    digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
    return f"'sha256-{digest}'"
