"""A table for a merge request, as GitHub and GitLab render it."""

from __future__ import annotations

from analysis.export.content import Content
from analysis.export.format_types import Page
from analysis.tables.markdown import code, escaped, markdown


def _write(content: Content) -> str:
    parts = [f"**{escaped(content.caption) or content.sentence(code)}**"]
    if content.points:
        parts.append(markdown(content.table()))
    notes = list(content.notes(code))
    parts += ["\n".join(f"- {note}" for note in notes)] if notes else []
    return "\n\n".join([*parts, content.provenance(code)]) + "\n"


FORMAT = Page(write=_write)
