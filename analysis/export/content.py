"""The content of exported tables: the columns and cells of `bench summary`, why runs failed, and the caveats."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import duckdb

from analysis.database.rows import Row, session_rows
from analysis.errors import AnalysisError
from analysis.report import named_queries
from analysis.report.sections.hardware import nodes_of
from analysis.tables.scaling import SPEEDUP, rates, scaling_table
from analysis.tables.table import Table
from analysis.tables.target import target_table
from analysis.wording import machine, target, unlike_runs
from analysis.wording.caveats import caveats, of_rounds, ranges_of_rounds
from analysis.wording.failures import reasons
from analysis.wording.headline import headline

Name = Callable[[str], str]
"""Quotes untrusted text, such as a name or an error, for a format."""

_FACTS = (
    ("scalebench", "scalebench"),
    ("commit", "commit"),
    ("user_commit", "commit of the training code"),
    ("image", "image content"),
    ("torch", "PyTorch"),
)
_ON_PAPER = ("speedup", SPEEDUP, "efficiency [95 %]", "verdict")


@dataclass(frozen=True, kw_only=True)
class Content:
    """The content of one session's exports."""

    session: Row
    """analysis/report/queries/session.sql."""
    facts: Mapping[str, str]
    """Facts about the first node."""
    points: list[Row]
    """Rows of `scaling`, as the plan orders them."""
    coverage: list[Row]
    machine: machine.Machine
    differing: list[Row]
    """Facts in which runs differ, from unlike_runs."""
    to_target: Sequence[Row]
    """Rows of `time_to_target`, if that is the table to export; else empty."""
    caption: str
    """The user's text, in place of the headline or of a picture's title; empty: none."""

    def table(self) -> Table:
        if self.to_target:
            return target_table(self.to_target)
        return scaling_table(self.points, self.coverage)

    def on_paper(self) -> Table:
        """The columns that fit on a page; the column of nodes only if a row has more than one."""
        if self.to_target:
            return self.table()
        wanted = {*_ON_PAPER, *(heading for heading, _ in rates(self.points))}
        if any(point["nodes"] > 1 for point in self.points):
            wanted.add("nodes")
        table = self.table()
        return replace(table, values=[column for column in table.values if column.heading in wanted])

    def notes(self, name: Name = str) -> Iterator[str]:
        """The sentences below a table: the headline if a caption took its place, why runs are not ok, which
        missed their target, caveats."""
        if self.caption:
            yield self.sentence(name)
        yield from reasons(self.coverage, name)
        yield from target.notes(self.to_target, name)
        yield from self.caveats(name)

    def sentence(self, name: Name = str) -> str:
        """The session's headline, or that of the way to the target."""
        if to_target := target.sentence(self.to_target, name):
            return to_target
        return headline(self.points, name, machine.sentence(self.machine, name))

    def caveats(self, name: Name = str) -> Iterator[str]:
        """Sentences about the limits of the numbers."""
        if self.session["is_busy"]:
            yield "Measured on a busy machine: times may include waiting for other processes."
        yield from caveats(
            self.session,
            self.points,
            differing=self.differing,
            shows_throughput_intervals=False,
            name=name,
        )
        yield from of_rounds(self.points)
        yield from ranges_of_rounds(self.points)

    def provenance(self, name: Name = str) -> str:
        """Where the numbers come from: session, suite, device, software, date. Unknown facts are left out."""
        return ", ".join(_provenance(self.session, self.facts, name))


OF_TARGETS = "time_to_target"
"""The table that can be exported in place of the summary."""


def read(
    connection: duckdb.DuckDBPyConnection,
    session_id: str,
    caption: str | None = None,
    view: str | None = None,
) -> Content:
    """Read the content of a session, which must be in the database. `view` is OF_TARGETS or None. Raises AnalysisError
    if no run was to reach a target."""
    to_target = session_rows(connection, OF_TARGETS, session_id) if view == OF_TARGETS else []
    if view == OF_TARGETS and not to_target:
        raise AnalysisError("no run of the session was to reach a target: measure.until_loss gives it")
    points, coverage = (session_rows(connection, view, session_id) for view in ("scaling", "coverage"))
    nodes = nodes_of(named_queries.frame(connection, "environment", session_id).to_dicts())
    return Content(
        session=named_queries.frame(connection, "session", session_id).row(0, named=True),
        facts=next(iter(nodes.values()), {}),
        points=points,
        coverage=coverage,
        machine=machine.read(connection, session_id),
        differing=unlike_runs.read(connection, session_id),
        to_target=to_target,
        caption=" ".join((caption or "").split()),
    )


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
