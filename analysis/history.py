"""`bench history`: a row per case, placement and session of a suite, and closing sentences."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import polars as pl
from rich.console import Console

from analysis.compare.comparison_table import tone_of
from analysis.compare.wording import ratio_cell
from analysis.database import connections
from analysis.database.rows import Row
from analysis.errors import AnalysisError
from analysis.report.pages.history import data
from analysis.report.pages.history.data import History
from analysis.report.pages.history.wording import sentences
from analysis.sql import choose_session
from analysis.tables import terminal
from analysis.tables.column import Column, text_of
from analysis.tables.scaling import throughput_unit
from analysis.tables.table import Table
from analysis.wording import numbers, verdicts
from analysis.wording.plain_text import counted

_HISTORIES = Path(__file__).parent / "sql/histories.sql"


def show(
    results: Path,
    suite: str | None,
    *,
    last: int,
    only_regressions: bool = False,
    out: Console | None = None,
) -> None:
    """Print the newest `last` sessions, or only the regressions. Raises AnalysisError for a suite without a history."""
    out = out or terminal.console()
    with connections.reader(results) as connection:
        history = data.read(connection, _chosen(connection, suite))
    rows = history.regressions if only_regressions else _newest(history, last)
    if rows:
        terminal.show(out, f"{history.suite} over its sessions", _table(rows))
    left_out = len(history.sessions) - last
    if not only_regressions and left_out > 0:
        are = "is" if left_out == 1 else "are"
        every = f"--last {len(history.sessions)} shows all"
        terminal.say(out, f"{counted(left_out, 'earlier sessions')} {are} not shown: {every}")
    first, *others = sentences(history)
    for line in others:
        terminal.say(out, line)
    terminal.say(out, first, "bold")


def rows(results: Path, suite: str | None, *, last: int, only_regressions: bool = False) -> list[Row]:
    """The rows that `show` prints, with all columns of the page's CSV; of a change that all cases share, `case_name` is
    None. Raises AnalysisError like `show`."""
    with connections.reader(results) as connection:
        history = data.read(connection, _chosen(connection, suite))
    return list(history.regressions) if only_regressions else _newest(history, last)


def _chosen(connection: duckdb.DuckDBPyConnection, suite: str | None) -> str:
    """The history of a suite [default: the newest session's]. Raises AnalysisError if it has no session."""
    query = _HISTORIES.read_text(encoding="utf-8")
    known = [str(name) for (name,) in connection.execute(query).fetchall()]
    if not known:
        choose_session.choose(connection)  # raises if there is no session at all
        raise AnalysisError("no session has trained anything yet: `bench suite smoke` measures one that does")
    if suite is not None and suite not in known:
        found = connection.execute("FROM sessions WHERE suite = $1 LIMIT 1", [suite]).fetchall()
        if found:
            raise AnalysisError(f"the suite {suite!r} has trained nothing, so there is no history of it")
        raise choose_session.unknown_suite(suite, known)
    return suite if suite is not None else known[0]


def _newest(history: History, last: int) -> list[Row]:
    """A row per session, by case and placement, the oldest session first."""
    numbers = [session["session_order"] for session in history.sessions[:last]]
    panels = history.points.get_column("panel").unique(maintain_order=True).to_list()
    place = pl.col("panel").replace_strict(panels, range(len(panels)))
    kept = history.points.filter(pl.col("session_order").is_in(numbers))
    shared = [row for row in reversed(history.shared) if row["session_order"] in numbers]
    return [*shared, *kept.sort([place, "workers", "placement", "line", "session_order"]).to_dicts()]


def _table(rows: Sequence[Row]) -> Table:
    unit = throughput_unit([row for row in rows if row["throughput"] is not None])
    return Table(
        rows=rows,
        keys=[
            Column("case", text_of("panel"), untrusted=True),
            Column("placement", text_of("placement")),
            Column("session", text_of("session_order"), number=True),
        ],
        values=[
            Column("began (UTC)", text_of("began")),
            Column(f"{unit} [95 %]", _throughput),
            Column("efficiency", _efficiency),
            Column("ratio [95 %]", ratio_cell),
            Column("of level [95 %]", _level_ratio),
            Column("verdict", _verdict, tone=tone_of),
            Column("changed", text_of("marked"), untrusted=True),
            Column("id", text_of("session_id"), untrusted=True),
        ],
    )


def _level_ratio(row: Row) -> str:
    if row["level_ratio"] is None:
        return ""
    ends = row["level_ratio_lo"], row["level_ratio_hi"]
    return " ".join(numbers.telling_estimate(row["level_ratio"], *ends, apart_from=1)).rstrip()


def _throughput(row: Row) -> str:
    if row["case_name"] is None:
        return ""
    if row["throughput"] is None:
        return "no ok repeat"
    return " ".join(
        numbers.telling_estimate(row["throughput"], row["throughput_lo"], row["throughput_hi"])
    ).rstrip()


def _efficiency(row: Row) -> str:
    if row["efficiency"] is None or row["is_baseline"] or row["scaling_mode"] == "none":
        return ""
    low, high = row["efficiency_lo"], row["efficiency_hi"]
    value = verdicts.efficiency_estimate(
        100 * row["efficiency"], *(None if end is None else 100 * end for end in (low, high))
    )[0]
    return f"{value} % {numbers.TOO_WIDE}" if numbers.is_too_wide(low, high) else f"{value} %"


def _verdict(row: Row) -> str:
    if row["regression"]:
        return "slower: regression"
    if row["improvement"]:
        return "faster: improvement"
    if row["oversubscribed"]:
        return "oversubscribed"
    if row["odd_runs"]:
        return "odd run: not judged"
    return f"unlike: {row['unlike']}" if row["is_alike"] is False else row["verdict"] or ""
