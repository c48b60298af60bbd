"""Parse a page to find its capabilities."""

from __future__ import annotations

import html.parser
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from analysis.report.html.embedding import unpacked

OF_LONG_TEXTS = {"title", "data-tag"}
"""Attributes that may hold the whole text if the page displays it cut."""
EXPRESSIONS = {
    "expr",
    "labelExpr",
    "calculate",
    "filter",
    "test",
    "signal",
    "update",
    "init",
    "groupby",
    "href",
    "url",
}
"""Keys that make Vega compute or load."""


class Parsed(html.parser.HTMLParser):
    """Capabilities of a page: elements with the names of their attributes, code that runs, targets of links."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: set[tuple[str, ...]] = set()
        """Declarations and comments, too."""
        self.code: Counter[str] = Counter()
        self.expressions: Counter[str] = Counter()
        self.links: list[str] = []
        self._kind = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        assert len(known) == len(attrs), f"an attribute stands twice: {attrs}"
        self.elements.add((tag, *sorted(known.keys() - OF_LONG_TEXTS)))
        self.links += [
            known[name] or "" for name in ("href", "src", "action", "srcset", "xlink:href") if name in known
        ]
        is_data = tag == "script" and known.get("type") == "application/json"
        self._kind = "data" if is_data else "code" if tag in ("script", "style") else ""

    def handle_endtag(self, tag: str) -> None:
        self._kind = ""

    def handle_data(self, data: str) -> None:
        if self._kind == "code":
            self.code[data] += 1
        elif self._kind == "data":
            self.expressions.update(_expressions(unpacked(data)))

    def handle_decl(self, decl: str) -> None:
        self.elements.add(("declaration", decl))

    def handle_comment(self, data: str) -> None:
        self.elements.add(("comment",))

    def handle_pi(self, data: str) -> None:
        self.elements.add(("instruction",))

    def unknown_decl(self, data: str) -> None:
        self.elements.add(("declaration",))


def _expressions(value: Any, key: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _expressions(item, name)
    elif isinstance(value, list):
        for item in value:
            yield from _expressions(item, key)
    elif key in EXPRESSIONS and isinstance(value, str):
        yield re.sub(r'"(\\.|[^"\\])*"', '""', value)
