"""What exported tables say: the columns and cells of `bench summary`, why runs failed, what limits the numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import duckdb

from analysis import machine
from analysis.caveats import caveats
from analysis.fetched import Row
from analysis.plain import cell
from analysis.report import frames
from analysis.report.hardware import nodes_of
from analysis.sentence import closing_sentence
from analysis.session_rows import session_rows
from analysis.summary_columns import key_columns, reasons, throughput_unit, value_columns
from analysis.tables import Column

Name = Callable[[str], str]
"""Makes of what others wrote, a name or an error, what a format may hold."""

_FACTS = (
    ("scalebench", "scalebench"),
    ("commit", "commit"),
    ("image", "image content"),
    ("torch", "PyTorch"),
)
_ON_PAPER = ("speedup", "efficiency [95 %]", "verdict")


@dataclass(frozen=True, kw_only=True)
class Content:
    """Of one session."""

    session: Row
    """analysis/report/queries/session.sql."""
    facts: Mapping[str, str]
    """Of the first node."""
    keys: Sequence[Column]
    """Which row it is; foreign cells hold no control characters any more."""
    values: Sequence[Column]
    """What was found; those without any are left out."""
    points: list[Row]
    """Rows of `scaling`, as the plan orders them."""
    coverage: list[Row]
    found: machine.Machine

    def of(self, points: list[Row]) -> Content:
        """The same of some of its rows."""
        return replace(self, points=points, keys=key_columns(points), values=_values(points, self.coverage))

    def on_paper(self) -> list[Column]:
        """Columns that fit between the margins of a page: nodes only where a row has more than one."""
        wanted = {*_ON_PAPER, throughput_unit(self.points)}
        if any(point["nodes"] > 1 for point in self.points):
            wanted.add("nodes")
        return [*self.keys, *(column for column in self.values if column.heading in wanted)]

    def reasons(self, name: Name = cell) -> Iterator[str]:
        """Why runs are not ok, a line for each placement."""
        return reasons(self.coverage, name)

    def sentence(self, name: Name = cell) -> str:
        """The one with which the session closes."""
        return closing_sentence(self.points, name, machine.sentence(self.found, name))

    def caveats(self) -> Iterator[str]:
        """What limits the numbers; every word is ours."""
        return caveats(self.session, self.points, shows_throughput_intervals=False)

    def provenance(self, name: Name = cell) -> str:
        """Where the numbers come from: session, suite, device, software, date; what is not known is left out."""
        return ", ".join(_provenance(self.session, self.facts, name))


def read(connection: duckdb.DuckDBPyConnection, session_id: str) -> Content:
    """The session must be in the database."""
    points, coverage = (session_rows(connection, view, session_id) for view in ("scaling", "coverage"))
    nodes = nodes_of(frames.frame(connection, "environment", session_id).to_dicts())
    return Content(
        session=frames.frame(connection, "session", session_id).row(0, named=True),
        facts=next(iter(nodes.values()), {}),
        keys=key_columns(points),
        values=_values(points, coverage),
        points=points,
        coverage=coverage,
        found=machine.read(connection, session_id),
    )


def _values(points: list[Row], coverage: list[Row]) -> list[Column]:
    return [column for column in value_columns(points, coverage) if any(column.cells)]


def _provenance(session: Row, facts: Mapping[str, str], name: Name) -> Iterator[str]:
    yield f"session {name(session['session_id'])}"
    yield f"suite {name(session['suite'])}{' (quick)' if session['quick'] else ''}"
    if session["devices"]:
        yield f"on {name(session['devices'])}"
    for key, word in _FACTS:
        if facts.get(key, "none") != "none":
            yield f"{word} {name(facts[key])}"
    if "container" in facts:
        yield "no container" if facts["container"] == "none" else f"image {name(facts['container'])}"
    if session["created_at"] is not None:
        yield f"{session['created_at']:%Y-%m-%d %H:%M} UTC"
