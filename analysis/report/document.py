"""A whole HTML document with a policy under which nothing loads and only its own scripts run."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

_ASSETS = Path(__file__).parent / "assets"
BASE_STYLES = ("base", "tables", "charts")
"""Style sheets of every page."""


def asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def document(
    *,
    title: str,
    body: str,
    scripts: Sequence[str] = (),
    styles: Sequence[str] = BASE_STYLES,
    meta: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """`body` is HTML; `scripts` run in this order after it; `meta` is text for programs by its name. Charts are drawn
    by Vega's interpreter, so that the policy needs neither unsafe-eval nor unsafe-inline."""
    style = "".join(asset(f"{name}.css") for name in styles)
    facts = "".join(
        f'<meta name="{html.escape(name)}" content="{html.escape(value)}">\n' for name, value in meta.items()
    )
    elements = "".join(f"<script>{script}</script>\n" for script in scripts)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"{facts}"
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(style, scripts)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{html.escape(title)}</title>\n<style>{style}</style>\n</head>\n"
        f"<body>\n{body}\n{elements}</body>\n</html>\n"
    )


def _policy(style: str, scripts: Sequence[str]) -> str:
    allowed = " ".join(_source(script) for script in scripts) or "'none'"
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_source(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _source(content: str) -> str:
    digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
    return f"'sha256-{digest}'"
