"""A table as Markdown, as GitHub and GitLab render it."""

from __future__ import annotations

import re

from rich.cells import cell_len

from analysis.tables.table import Table
from analysis.tables.text_layout import padded
from analysis.wording.plain_text import printable


def code(text: str) -> str:
    """Quote untrusted text as code, where both sites find no markup, mention or link. If backticks cannot quote it,
    write its special characters as entities."""
    shown = printable(text)
    if not shown.strip():
        return "<code></code>"
    if not re.search(r"[|`\\]|^ | $", shown):
        return f"`{shown}`"
    entities = (c if c.isalnum() or ord(c) > 0x7F else f"&#{ord(c)};" for c in shown)
    return f"<code>{''.join(entities)}</code>"


def escaped(text: str) -> str:
    """Text with a backslash before every character that Markdown could read as markup."""
    return re.sub(r"[\\`*_\[\]<>&~|$]", r"\\\g<0>", printable(text))


def markdown(table: Table) -> str:
    """The table as text, padded so that it is readable unrendered."""
    columns = table.columns()
    rows = [
        [
            code(text) if column.untrusted and text else text
            for column, text in zip(columns, line, strict=True)
        ]
        for line in table.lines()
    ]
    headings = [column.heading for column in columns]
    widths = [max(3, *map(cell_len, texts)) for texts in zip(headings, *rows, strict=True)]
    right = [column.number for column in columns]
    rule = [
        "-" * (width - 1) + (":" if numeric else "-") for width, numeric in zip(widths, right, strict=True)
    ]
    return "\n".join(
        f"| {' | '.join(map(padded, line, widths, right))} |" for line in [headings, rule, *rows]
    )
