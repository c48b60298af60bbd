"""The comparisons in a folder of pages. Each names its sessions in a <meta> of its head."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from types import MappingProxyType

from analysis.database.rows import Row
from analysis.report.html.files import compare_files, compare_name
from analysis.report.html.markup import LONGEST, cut
from analysis.report.pages.comparison.data import Sides, flat, ids, letter_of, together
from analysis.wording.plain_text import listed

META = "scalebench-compare"
"""Name of the <meta> whose content is the JSON list of sides, the baseline first."""
_HEAD_CHARACTERS = 100_000
"""Characters to search for the <meta>, which is before the style sheet."""

_MOST_NAMED = 3

Comparisons = Mapping[str, Sides]
"""File name -> sides."""


def head(sides: Sides) -> dict[str, str]:
    """The <meta> of a comparison's page: name -> content."""
    return {META: json.dumps(list(sides))}


def found(folder: Path) -> dict[str, Sides]:
    """The folder's comparisons. A file is one of ours only if its name follows from its sessions."""
    read = {path.name: _sides(path) for path in compare_files(folder)}
    return {name: sides for name, sides in read.items() if len(sides) > 1 and compare_name(sides) == name}


def comparison_title(sides: Sides, known: Mapping[str, Row] = MappingProxyType({})) -> str:
    """`B against A`, `B and C against A`, `C with D against A with B`; each session with its title and start. `known`
    are rows of the database by session id. A session that is not in the database is named by its id."""
    session_ids = flat(sides)
    rows = [known.get(session_id) for session_id in session_ids]
    titles = [
        cut(row["title"] or row["suite"], LONGEST) if row else session_id
        for row, session_id in zip(rows, session_ids, strict=True)
    ]
    began = _began(rows)
    if all(rows) and len(set(titles)) == 1:
        letters = [f"{letter_of(place)}{day}" for place, day in enumerate(began)]
        return f"{titles[0]}: {_against(together(sides, letters))}"
    named = zip(titles, began, strict=True)
    names = [f"{letter_of(place)} {title}{day}" for place, (title, day) in enumerate(named)]
    return _against(together(sides, names))


def compared_with(sides: Sides, session_id: str, known: Mapping[str, Row]) -> str:
    """The sessions of a comparison's other sides by their start, `2026-11-23 10:15`, or by id if not in `known`."""
    others = flat([side for side in sides if session_id not in ids(side)])
    began = [known[other]["created_at"] if other in known else None for other in others]
    return listed(
        (f"{time:%Y-%m-%d %H:%M}" if time else cut(other) for time, other in zip(began, others, strict=True)),
        _MOST_NAMED,
    )


def _began(rows: Sequence[Row | None]) -> list[str]:
    """The start days in brackets, with the time if two sessions began on the same day."""
    times = [row["created_at"] if row else None for row in rows]
    days = [f"{time:%Y-%m-%d}" for time in times if time]
    form = "%Y-%m-%d" if len(set(days)) == len(days) else "%Y-%m-%d %H:%M"
    return [f" ({time:{form}})" if time else "" for time in times]


def _against(names: Sequence[str]) -> str:
    baseline, *candidates = names
    *first, last = candidates
    return f"{', '.join(first)}{' and ' if first else ''}{last} against {baseline}"


def _sides(path: Path) -> Sides:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            text = file.read(_HEAD_CHARACTERS)
    except OSError:
        return []
    reader = _Head()
    reader.feed(text)
    return reader.sides


class _Head(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.sides: Sides = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        facts = dict(attrs)
        if tag != "meta" or facts.get("name") != META or self.sides:
            return
        try:
            value = json.loads(facts.get("content") or "")
        except ValueError:
            return
        if isinstance(value, list) and all(map(_is_side, value)):
            self.sides = value


def _is_side(value: object) -> bool:
    if isinstance(value, list):
        return len(value) > 1 and all(isinstance(item, str) for item in value)
    return isinstance(value, str)
