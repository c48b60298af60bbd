"""Plain text of at most 100 columns, for a ticket or a mail."""

from __future__ import annotations

import io

from rich.console import Console
from rich.text import Text

from analysis import tables
from analysis.export.content import Content
from analysis.export.kinds import Page
from analysis.plain import cell

WIDTH = 100
"""Columns; a ticket's own font is wider than a terminal's."""


def _write(content: Content) -> str:
    written = io.StringIO()
    out = Console(file=written, width=WIDTH, color_system=None, highlight=False, emoji=False, markup=False)
    if content.points:
        title = cell(content.session["title"] or content.session["suite"])
        tables.show(out, title, content.keys, content.values)
        out.print()
    for line in [*content.reasons(), *content.caveats()]:
        out.print(Text(f"- {line}"))
    out.print()
    out.print(Text(content.sentence()))
    out.print(Text(content.provenance()))
    return "".join(f"{line.rstrip()}\n" for line in written.getvalue().splitlines())


FORMAT = Page(write=_write)
