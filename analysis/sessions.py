"""`bench sessions`: the sessions of the database, the newest first, each with its headline."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from rich.cells import cell_len, set_cell_size
from rich.console import Console

from analysis.database import connections
from analysis.database.rows import Row, fetch_rows, session_rows
from analysis.errors import AnalysisError
from analysis.sql import choose_session
from analysis.tables import terminal
from analysis.tables.text_layout import padded
from analysis.wording import machine
from analysis.wording.headline import headline
from analysis.wording.plain_text import printable
from bench.records.session_names import NONE_YET

_QUERY = Path(__file__).parent / "sql" / "sessions.sql"
_GAP = "  "
_INDENT = "    "
_PLAIN_WORDS = 3
"""`bench suite NAME`: its line has the name already."""


def read(results: Path, *, suite: str | None = None, last: int | None = None) -> list[Row]:
    """The newest `last` sessions [default: all], each with its `status` and its `headline`.

    Raises AnalysisError if there is none of that suite."""
    with connections.reader(results) as connection:
        rows = fetch_rows(connection, _QUERY.read_text(encoding="utf-8"), {"suite": suite})
        if not rows:
            every = fetch_rows(connection, _QUERY.read_text(encoding="utf-8"), {"suite": None})
            if suite is None or not every:
                raise AnalysisError(f"{results}: {NONE_YET}")
            raise choose_session.unknown_suite(suite, (row["suite"] for row in every))
        for row in rows[:last]:
            points = session_rows(connection, "scaling", row["session_id"])
            of_machine = machine.sentence(machine.read(connection, row["session_id"]))
            row["status"] = _status(row)
            row["headline"] = headline(points, machine=of_machine)
    return rows[:last]


def show(rows: Sequence[Row], out: Console | None = None) -> None:
    """Print the lines of each session: its id, suite, beginning (UTC) and status; its command, unless that only names
    the suite; its headline."""
    out = out or terminal.console()
    lines = [
        [printable(row["session_id"]), printable(row["suite"] or ""), _began(row), row["status"]]
        for row in rows
    ]
    widths = [max(cell_len(line[column]) for line in lines) for column in range(3)]
    for row, (session_id, *others) in zip(rows, lines, strict=True):
        facts = _GAP.join(
            padded(text, width, False) for text, width in zip(others, [*widths[1:], 0], strict=True)
        )
        whole = f"{padded(session_id, widths[0], False)}{_GAP}{facts}"
        if cell_len(whole) <= out.width:
            terminal.say(out, whole, "bold" if row is rows[0] else "")
        else:  # the id stays whole, so that it can be copied
            terminal.say(out, session_id, "bold" if row is rows[0] else "")
            terminal.say(out, f"{_INDENT}{facts}")
        if len(row["command"] or ()) > _PLAIN_WORDS:
            command = printable(shlex.join(["bench", *row["command"][1:]]))
            terminal.say(out, _shortened(f"{_INDENT}{command}", out.width), "dim")
        terminal.say(out, _shortened(f"{_INDENT}{printable(row['headline'])}", out.width))


def _began(row: Row) -> str:
    return "" if row["created_at"] is None else f"{row['created_at']:%Y-%m-%d %H:%M}"


def _status(row: Row) -> str:
    """Such as `9 of 9 ok`; a session that was stopped, or that still runs, is `not finished`."""
    counted = f"{row['ok']:,} of {row['runs']:,} ok"
    skipped = f", {row['skipped']:,} skipped" if row["skipped"] else ""
    unfinished = ", not finished" if row["finished_at"] is None and not row["imported"] else ""
    return f"{counted}{skipped}{unfinished}"


def _shortened(line: str, width: int) -> str:
    return line if cell_len(line) <= width else f"{set_cell_size(line, width - 1).rstrip()}…"
