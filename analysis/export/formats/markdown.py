"""A table for a merge request, as GitHub and GitLab render it."""

from __future__ import annotations

from analysis.export.content import Content
from analysis.export.format_types import Page
from analysis.tables.markdown import code, markdown


def _write(content: Content) -> str:
    parts = [f"**{content.sentence(code)}**"]
    if content.points:
        parts.append(markdown(content.table()))
    notes = [*content.reasons(code), *content.caveats()]
    parts += ["\n".join(f"- {note}" for note in notes)] if notes else []
    return "\n\n".join([*parts, content.provenance(code)]) + "\n"


FORMAT = Page(write=_write)
