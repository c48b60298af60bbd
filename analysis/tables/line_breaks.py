"""Text at the width of a terminal: lines that break between words, and names that are cut in the middle.

Widths are columns of a terminal; East Asian characters take two.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.cells import cell_len

CUT = "…"
"""In place of what is left out of a name."""
_UNIT = re.compile(r"(?:\d[\d.,]* )?(?:`[^`]*`|\[[^\[\]]{0,40}\]|\S)+(?: %\S*)?")
"""A piece that stays on one line: a word, a number and its unit, an interval, a command in backticks."""
_ARGUMENT = re.compile(r"""(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|\S)+""")
"""A word of a command; quoted spaces belong to it."""


def wrapped(text: str, width: int) -> list[str]:
    """The text in lines of at most `width` columns, all indented like the first. A longer word keeps its own line."""
    body = text.lstrip(" ")
    indent = " " * (len(text) - len(body) + 2 * body.startswith("- "))
    lines, line = [], text[: len(text) - len(body)]
    for unit in _units(body, width - len(indent)):
        if line.strip() and cell_len(line) + (not line.endswith(" ")) + cell_len(unit) > width:
            lines.append(line.rstrip())
            line = indent
        line += f"{' ' * bool(line.strip() and not line.endswith(' '))}{unit}"
    return [*lines, line]


def _units(text: str, width: int) -> list[str]:
    """Pieces that stay on one line. A unit that is wider than a line is split into its words."""
    pieces = _UNIT.findall(text)
    return [word for piece in pieces for word in ([piece] if cell_len(piece) <= width else piece.split())]


def wrapped_command(text: str, width: int) -> list[str]:
    """A command in lines that a shell reads as one: each but the last ends with a backslash. `text` may begin with
    words that introduce the command; later lines are indented by 4 columns more than the first."""
    margin = text[: len(text) - len(text.lstrip(" "))]
    lines, line = [], ""
    for word in _ARGUMENT.findall(text):
        longer = f"{line} {word}" if line else f"{margin}{word}"
        if line and cell_len(longer) > width - len(" \\"):
            lines.append(f"{line} \\")
            longer = f"{margin}    {word}"
        line = longer
    return [*lines, line]


def distinct(names: Sequence[str], width: int) -> list[str] | None:
    """The names, each cut in the middle to at most `width` columns so that different names stay different. Null if no
    cut keeps them apart."""
    different = set(names)
    longest = max(map(cell_len, different), default=0)
    if longest <= width:
        return list(names)
    room = width - cell_len(CUT)
    for tail in sorted(range(1, room), key=lambda tail: abs(2 * tail - room)):
        cut = {name: _cut(name, room - tail, tail, width) for name in different}
        if len(set(cut.values())) == len(different):
            return [cut[name] for name in names]
    return None


def _cut(name: str, head: int, tail: int, width: int) -> str:
    if cell_len(name) <= width:
        return name
    return f"{_first(name, head)}{CUT}{_first(name[::-1], tail)[::-1]}"


def _first(text: str, width: int) -> str:
    while cell_len(text) > width:
        text = text[: -max(1, (cell_len(text) - width) // 2)]
    return text
