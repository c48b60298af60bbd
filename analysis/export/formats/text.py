"""Plain text of at most 100 columns, for a ticket or a mail."""

from __future__ import annotations

import io

from rich.console import Console

from analysis.export.content import Content
from analysis.export.format_types import Page
from analysis.tables import terminal

WIDTH = 100
"""Columns; a ticket's font is wider than a terminal's."""


def _write(content: Content) -> str:
    written = io.StringIO()
    out = Console(file=written, width=WIDTH, color_system=None, highlight=False, emoji=False, markup=False)
    if content.points:
        terminal.show(out, content.title(), content.table())
        out.print()
    elif content.caption:
        terminal.say(out, content.caption)
        out.print()
    for line in [*content.reasons(), *content.caveats()]:
        terminal.say(out, f"- {line}")
    out.print()
    terminal.say(out, content.sentence())
    terminal.say(out, content.provenance())
    return "".join(f"{line.rstrip()}\n" for line in written.getvalue().splitlines())


FORMAT = Page(write=_write)
