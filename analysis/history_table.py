"""A suite over its sessions, on a terminal: a row per case, placement and session, and a closing sentence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import polars as pl
from rich.console import Console
from rich.text import Text

from analysis import database, tables
from analysis.compare.sentence import ratio
from analysis.errors import AnalysisError
from analysis.fetched import Row
from analysis.plain import cell, listed
from analysis.report.history import contents
from analysis.report.history.contents import History
from analysis.report.history.sentence import sentences
from analysis.rounding import estimate
from analysis.summary_columns import column, throughput_unit

_STYLES = {"faster": "green", "slower": "yellow", "inconclusive": "dim"}
_MOST_SUITES = 8


def show(
    results: Path,
    suite: str | None,
    *,
    last: int,
    only_regressions: bool = False,
    out: Console | None = None,
) -> None:
    """Print it, of `last` sessions, or its regressions. Raises AnalysisError for a suite without a history."""
    out = out or tables.console()
    with database.reader(results) as connection:
        history = contents.read(connection, _chosen(connection, suite))
    rows = history.regressions if only_regressions else _newest(history, last)
    if rows:
        tables.show(out, cell(f"{history.suite} over its sessions"), _keys(rows), _values(rows))
    left_out = len(history.sessions) - last
    if not only_regressions and left_out > 0:
        out.print(
            Text(f"{left_out:,} earlier sessions are not shown: --last {len(history.sessions)} shows all")
        )
    first, *others = sentences(history)
    for said in others:
        out.print(Text(said))
    out.print(Text(first, style="bold"))


def _chosen(connection: duckdb.DuckDBPyConnection, suite: str | None) -> str:
    """By default that of the newest session."""
    query = "SELECT suite FROM history GROUP BY suite ORDER BY max(created_at) DESC, suite"
    known = [str(name) for (name,) in connection.execute(query).fetchall()]
    if not known:
        raise AnalysisError("no session has trained anything yet: `bench suite smoke` makes one")
    if suite is not None and suite not in known:
        raise AnalysisError(f"no session of the suite {suite!r}; there are {listed(known, _MOST_SUITES)}")
    return suite if suite is not None else known[0]


def _newest(history: History, last: int) -> list[Row]:
    """Case by case, each placement from the oldest session to the newest."""
    numbers = [session["session_order"] for session in history.sessions[:last]]
    panels = history.points.get_column("panel").unique(maintain_order=True).to_list()
    place = pl.col("panel").replace_strict(panels, range(len(panels)))
    kept = history.points.filter(pl.col("session_order").is_in(numbers))
    return kept.sort([place, "workers", "placement", "line", "session_order"]).to_dicts()


def _keys(rows: Sequence[Row]) -> list[tables.Column]:
    return [
        column(rows, "case", lambda row: cell(row["panel"]), number=False, foreign=True),
        column(rows, "placement", lambda row: str(row["placement"]), number=False),
        column(rows, "began (UTC)", lambda row: row["began"] or "", number=False),
    ]


def _values(rows: Sequence[Row]) -> list[tables.Column]:
    styles = ["bold red" if row["regression"] else _STYLES.get(row["verdict"], "") for row in rows]
    unit = throughput_unit([row for row in rows if row["throughput"] is not None])
    return [
        column(rows, f"{unit} [95 %]", _throughput, number=False),
        column(rows, "efficiency", _efficiency),
        column(rows, "ratio [95 %]", lambda row: ratio(row)[1:] if row["ratio"] else "", number=False),
        column(rows, "verdict", _verdict, number=False, styles=styles),
        column(rows, "changed", lambda row: cell(row["marked"]), number=False, foreign=True),
        column(rows, "session", lambda row: cell(row["session_id"]), number=False, foreign=True),
    ]


def _throughput(row: Row) -> str:
    if row["throughput"] is None:
        return "no ok repeat"
    return " ".join(estimate(row["throughput"], row["throughput_lo"], row["throughput_hi"])).rstrip()


def _efficiency(row: Row) -> str:
    if row["efficiency"] is None or row["is_baseline"] or row["scaling"] == "none":
        return ""
    return f"{100 * row['efficiency']:.1f} %"


def _verdict(row: Row) -> str:
    if row["regression"]:
        return "slower: regression"
    if row["oversubscribed"]:
        return "oversubscribed"
    return f"unlike: {row['unlike']}" if row["is_alike"] is False else row["verdict"] or ""
