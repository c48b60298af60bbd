"""A table for a merge request, as GitHub and GitLab draw it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.cells import cell_len

from analysis.export.content import Content
from analysis.export.kinds import Page
from analysis.plain import cell
from analysis.tables import Column


def _write(content: Content) -> str:
    parts = [f"**{content.sentence(code)}**"]
    if content.points:
        parts.append(_table([*content.keys, *content.values]))
    notes = [*content.reasons(code), *content.caveats()]
    parts += ["\n".join(f"- {note}" for note in notes)] if notes else []
    return "\n\n".join([*parts, content.provenance(code)]) + "\n"


def code(text: str) -> str:
    """What others wrote, so that nothing in it is markup, a mention or a link: as code, which both sites leave alone.
    Where code of backticks cannot hold it, its special characters are written as entities."""
    shown = cell(text)
    if not shown.strip():
        return "<code></code>"
    if not re.search(r"[|`\\]|^ | $", shown):
        return f"`{shown}`"
    return f"<code>{''.join(map(_entity, shown))}</code>"


def _entity(character: str) -> str:
    is_plain = character.isalnum() or ord(character) > 0x7F
    return character if is_plain else f"&#{ord(character)};"


def _table(columns: Sequence[Column]) -> str:
    cells = [[code(text) if column.foreign and text else text for text in column.cells] for column in columns]
    widths = [
        max(3, *map(cell_len, [column.heading, *texts])) for column, texts in zip(columns, cells, strict=True)
    ]
    rule = [
        f"{'-' * (width - 1)}{':' if c.number else '-'}" for c, width in zip(columns, widths, strict=True)
    ]
    lines = [[column.heading for column in columns], rule, *zip(*cells, strict=True)]
    return "\n".join(_line(columns, widths, line) for line in lines)


def _line(columns: Sequence[Column], widths: Sequence[int], texts: Sequence[str]) -> str:
    padded = []
    for column, width, text in zip(columns, widths, texts, strict=True):
        space = " " * (width - cell_len(text))
        padded.append(space + text if column.number else text + space)
    return f"| {' | '.join(padded)} |"


FORMAT = Page(write=_write)
