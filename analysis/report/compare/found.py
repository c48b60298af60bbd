"""Which comparisons lie in a folder of pages: each says in its head which sessions it compares."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from types import MappingProxyType

from analysis.report.compare.contents import letter_of
from analysis.report.files import compare_files, compare_name
from analysis.report.markup import LONGEST, Row, cut

META = "scalebench-compare"
"""Name of the <meta> whose content is the JSON list of session ids, the baseline first."""
_HEAD_CHARACTERS = 100_000
"""That are searched for it: it stands before the style sheet."""

Comparisons = Mapping[str, Sequence[str]]
"""Session ids, the baseline first, by file name."""


def head(session_ids: Sequence[str]) -> dict[str, str]:
    """What a compare page says of itself, for `document`."""
    return {META: json.dumps(list(session_ids))}


def found(folder: Path) -> dict[str, Sequence[str]]:
    """The folder's comparisons. A file that has another name than its sessions give is none of ours."""
    read = {path.name: _sessions(path) for path in compare_files(folder)}
    return {name: ids for name, ids in read.items() if len(ids) > 1 and compare_name(ids) == name}


def comparison_title(session_ids: Sequence[str], known: Mapping[str, Row] = MappingProxyType({})) -> str:
    """`B against A`, `B and C against A`, each with its title and when it began; `known` are rows of the database by
    session id. What the database does not know is named by its id."""
    rows = [known.get(session_id) for session_id in session_ids]
    titles = [
        cut(row["title"] or row["suite"], LONGEST) if row else session_id
        for row, session_id in zip(rows, session_ids, strict=True)
    ]
    began = _began(rows)
    if all(rows) and len(set(titles)) == 1:
        return f"{titles[0]}: {_against([f'{letter_of(place)}{day}' for place, day in enumerate(began)])}"
    sides = zip(titles, began, strict=True)
    return _against([f"{letter_of(place)} {title}{day}" for place, (title, day) in enumerate(sides)])


def _began(rows: Sequence[Row | None]) -> list[str]:
    """In brackets; with the time where two of the sessions began on one day."""
    times = [row["created_at"] if row else None for row in rows]
    days = [f"{time:%Y-%m-%d}" for time in times if time]
    form = "%Y-%m-%d" if len(set(days)) == len(days) else "%Y-%m-%d %H:%M"
    return [f" ({time:{form}})" if time else "" for time in times]


def _against(names: Sequence[str]) -> str:
    baseline, *candidates = names
    *first, last = candidates
    return f"{', '.join(first)}{' and ' if first else ''}{last} against {baseline}"


def _sessions(path: Path) -> list[str]:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            text = file.read(_HEAD_CHARACTERS)
    except OSError:
        return []
    reader = _Head()
    reader.feed(text)
    return reader.session_ids


class _Head(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.session_ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        facts = dict(attrs)
        if tag != "meta" or facts.get("name") != META or self.session_ids:
            return
        try:
            value = json.loads(facts.get("content") or "")
        except ValueError:
            return
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            self.session_ids = value
