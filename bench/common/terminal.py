"""Text at the width of a terminal. Into a pipe or a file, each message stays on one line."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import TextIO

_BOUND = "\0"
"""In place of a space at which a line must not break."""


def width_of(stream: TextIO) -> int | None:
    """Columns of the terminal that the stream is; null if it is none."""
    if not stream.isatty():
        return None
    try:
        return os.get_terminal_size(stream.fileno()).columns or None
    except (OSError, ValueError):
        return None


def aligned(rows: Iterable[Sequence[str]], left: int = 0) -> list[str]:
    """A line for each row. The first `left` columns are flush left, the others flush right."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def wrapped(text: str, width: int | None, indent: str = "") -> list[str]:
    """The text in lines that break between words, and not inside a command in backticks that fits on a line. All but
    the first begin with `indent`, after the text's own. A word that is longer than a line keeps its own."""
    if width is None or len(text) <= width:
        return [text]
    margin = text[: len(text) - len(text.lstrip(" "))]
    least = width - len(margin) - len(indent)

    def bound(command: re.Match[str]) -> str:
        return command[0].replace(" ", _BOUND) if len(command[0]) <= least else command[0]

    lines = textwrap.wrap(
        re.sub(r"`[^`]+`\S*", bound, text.lstrip(" ")),
        width,
        initial_indent=margin,
        subsequent_indent=margin + indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_BOUND, " ") for line in lines]


def cut_in_the_middle(name: str, width: int) -> str:
    """A name of at most `width` columns; its beginning and its end stay."""
    from rich.cells import cell_len, set_cell_size

    if cell_len(name) <= width:
        return name
    tail = width // 2
    while cell_len(name[-tail:]) > width // 2:
        tail -= 1
    return f"{set_cell_size(name, width - 1 - cell_len(name[-tail:]))}…{name[-tail:]}"


def message(text: str, width: int | None) -> str:
    """The lines of a message, each wrapped, with its continuation indented."""
    return "\n".join(part for line in text.split("\n") for part in wrapped(line, width, "  "))


def tell(text: str) -> None:
    """Write a message to stderr."""
    sys.stderr.write(f"{message(text, width_of(sys.stderr))}\n")
