"""Answers to questions about a session that need no SQL: its findings, its lost efficiency, its slow ranks."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from analysis.database import connections
from analysis.database.rows import Row, session_rows
from analysis.diagnosis import findings as diagnosis
from analysis.sql.choose_session import choose
from analysis.tables import terminal
from analysis.tables.column import Column, number_of, text_of
from analysis.tables.table import Table
from analysis.wording import numbers, verdicts
from analysis.wording.lost_efficiency import explained, name_of
from analysis.wording.main_loss import main_loss_of
from analysis.wording.numbers import estimate
from analysis.wording.plain_text import printable
from bench.records.vocabulary import COMMAND


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The rows behind an answer, and how a terminal shows it."""

    rows: Sequence[Row]
    show: Callable[[Console], None]


def findings(results: Path, session: str | None, program: str = "bench") -> Answer:
    """Every finding of a session [default: the newest], the gravest first. `program` starts the commands that it
    advises. Raises AnalysisError if there is no such session."""
    with connections.reader(results) as connection:
        session_id = choose(connection, session)
        rows = diagnosis.read(connection, session_id)

    def show(out: Console) -> None:
        terminal.say(out, session_id, "bold")
        for row in rows:
            for line in diagnosis.finding_lines(row, program, out.width):
                terminal.say(out, line)
        if not rows:
            terminal.say(out, "There is no finding: no rule of diagnosis fires.")

    return Answer(rows=rows, show=show)


def losses(results: Path, session: str | None) -> Answer:
    """Where a session [default: the newest] lost efficiency, by case and placement. Raises AnalysisError if there is
    no such session."""
    with connections.reader(results) as connection:
        session_id = choose(connection, session)
        rows = session_rows(connection, "efficiency_loss", session_id)
        points = session_rows(connection, "scaling", session_id)
    known = [row for row in rows if row["share"] is not None]
    places = list(dict.fromkeys((row["case_name"], row["placement"]) for row in known))
    order = {place: number for number, place in enumerate(places)}
    undecided = {point["point_id"] for point in points if verdicts.is_open(point)}
    known.sort(key=lambda row: (order[row["case_name"], row["placement"]], -row["share"]))

    def show(out: Console) -> None:
        if known:
            terminal.show(out, session_id, _losses_table(known, undecided))
            if said := main_loss_of(points, explained(rows)):
                terminal.say(out, said, "bold")
        else:
            terminal.say(
                out, f"{session_id}: no size has an efficiency, so there is no lost efficiency to explain."
            )

    return Answer(rows=rows, show=show)


def slow_ranks(results: Path, session: str | None) -> Answer:
    """The ranks of a session [default: the newest] that others wait for. Raises AnalysisError if there is no such
    session."""
    with connections.reader(results) as connection:
        session_id = choose(connection, session)
        rows = session_rows(connection, "stragglers", session_id)
    slowest = [row for row in rows if row["excess_ms"] is not None]
    slowest.sort(key=lambda row: -row["excess_ms"])
    places = [(row["case_name"], row["placement"]) for row in slowest]
    shown = [row for at, row in enumerate(slowest) if row["is_straggler"] or places.index(places[at]) == at]

    def show(out: Console) -> None:
        if shown:
            terminal.show(out, session_id, _ranks_table(shown))
        terminal.say(out, _slowness(rows, slowest), "bold")

    return Answer(rows=rows, show=show)


def _slowness(rows: Sequence[Row], known: Sequence[Row]) -> str:
    slow = [row for row in known if row["is_straggler"]]
    if slow:
        worst = slow[0]
        more = f"; {len(slow) - 1:,} more in the table" if len(slow) > 1 else ""
        # the other ranks of a command may be late for reasons that are not recorded
        most = "at most " if worst["strategy"] == COMMAND else ""
        return (
            f"Rank {worst['rank']} of {printable(worst['case_name'])} {worst['placement']} is slow: the others wait "
            f"{most}{' '.join(filter(None, _excess(worst)))} ms for it in each step{more}."
        )
    if not rows:
        return "No ok run has two ranks or more, so no rank waits for another."
    if not known:
        return "It is not known which rank the others wait for: the strategy does not show it."
    if all(row["is_straggler"] is None for row in known):
        return "Whether a rank is slow is not known: that needs two ok repeats, and a slot for each rank."
    return "No rank is certainly slower than the others; the table has the slowest of each placement."


def _excess(row: Row) -> tuple[str, str]:
    return estimate(row["excess_ms"], row["excess_ms_lo"], row["excess_ms_hi"])


def _ranks_table(rows: Sequence[Row]) -> Table:
    return Table(
        rows=rows,
        keys=[
            Column("case", text_of("case_name"), untrusted=True),
            Column("placement", text_of("placement")),
            Column("rank", text_of("rank"), number=True),
            Column("node", text_of("node"), number=True),
        ],
        values=[
            Column("waits, ms [95 %]", lambda row: " ".join(filter(None, _excess(row)))),
            Column("last in %", number_of("times_slowest_share", 3, 100), number=True),
            Column("slow", lambda row: {True: "yes", False: "no", None: "not known"}[row["is_straggler"]]),
        ],
    )


def _losses_table(rows: Sequence[Row], undecided: Container[str]) -> Table:
    """`undecided` are the ids of the points whose repeats do not show how much was lost, nor to what."""

    def lost_share(row: Row) -> str:
        if row["point_id"] in undecided:
            return numbers.TOO_WIDE
        return " ".join(filter(None, numbers.percent(row["share"], row["share_lo"], row["share_hi"])))

    def lost_ms(row: Row) -> str:
        return "" if row["point_id"] in undecided else number_of("lost_ms", 3)(row)

    return Table(
        rows=rows,
        keys=[
            Column("case", text_of("case_name"), untrusted=True),
            Column("placement", text_of("placement")),
            Column("lost to", lambda row: name_of(row["term"])),
        ],
        values=[
            Column("share of time [95 %]", lost_share),
            Column("ms a step", lost_ms, number=True),
        ],
    )
