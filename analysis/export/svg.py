"""What every exported SVG has: where it comes from, which makes it known as ours again."""

from __future__ import annotations

import html
import re

MARK = "written by bench export"
"""In every picture."""


def described(svg: str, title: str, origin: str) -> str:
    """With a title and a description for readers and programs; neither is drawn."""
    said = f"<title>{html.escape(title)}</title><desc>{html.escape(origin)}; {MARK}</desc>"
    return re.sub(r"<svg[^>]*>", lambda found: found[0] + said, svg, count=1)
