"""The data of a history, read at once, and the suites that have one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import duckdb
import polars as pl

from analysis.database.rows import Row
from analysis.report import named_queries


@dataclass(frozen=True, kw_only=True)
class History:
    """A suite over its sessions."""

    suite: str
    sessions: Sequence[Row]
    """queries/history_sessions.sql, the newest first."""
    points: pl.DataFrame
    """queries/history.sql, the oldest session first; cases in the order of the newest session's suite."""
    shared: Sequence[Row]
    """queries/shared_changes.sql with the columns of `points`, the newest first."""

    @property
    def newest(self) -> Row:
        return self.sessions[0]

    @property
    def title(self) -> str:
        return str(self.newest["title"] or self.suite)

    @property
    def judged(self) -> list[Row]:
        """The rows of the newest session that have a verdict."""
        return [row for row in self.newest_rows if row["verdict"] is not None]

    @property
    def lost(self) -> list[Row]:
        """The rows of the newest session without an ok repeat, at placements that have one in a session that it is
        compared with."""
        compared = pl.col("session_id").is_in({row["previous_session_id"] for row in self.judged})
        trained = self.points.filter(compared & pl.col("throughput").is_not_null())
        places = set(trained.select("line", "placement").iter_rows())
        return [
            row
            for row in self.newest_rows
            if row["throughput"] is None and (row["line"], row["placement"]) in places
        ]

    @cached_property
    def newest_rows(self) -> list[Row]:
        return self.points.filter(pl.col("session_id") == self.newest["session_id"]).to_dicts()

    def changed(self, kind: str) -> list[Row]:
        """The rows of the newest session that are a `regression` or an `improvement`, the largest change first."""
        found = [row for row in self.newest_rows if row[kind]]
        return sorted(found, key=lambda row: row["level_ratio"], reverse=kind == "improvement")

    @property
    def newly_shared(self) -> list[Row]:
        """Changes of the newest session that all cases share."""
        return [row for row in self.shared if row["session_id"] == self.newest["session_id"]]

    @property
    def regressions(self) -> list[Row]:
        """Rows of regressions, the newest session first; in each session, what all cases share and then the largest
        loss first."""
        found = [row for row in self.shared if row["regression"]]
        found += self.points.filter("regression").sort("level_ratio").to_dicts()
        return sorted(found, key=lambda row: -row["session_order"])


def suites(connection: duckdb.DuckDBPyConnection, session_ids: Sequence[str]) -> list[str]:
    """The suites of the sessions in which something was measured twice."""
    several = (
        "SELECT suite FROM sessions GROUP BY suite HAVING count(*) > 1 AND count_if(session_id IN $1) > 0"
    )
    wanted = {suite for (suite,) in connection.execute(several, [list(session_ids)]).fetchall()}
    if not wanted:  # planning the query below takes longer than all others of a page
        return []
    measured_twice = connection.execute(named_queries.query_text("histories")).fetchall()  # names unchanged
    return [suite for (suite, _sessions) in measured_twice if suite in wanted]


def read(connection: duckdb.DuckDBPyConnection, suite: str) -> History:
    """Read a suite's history; `suites` must return the suite."""
    sessions = named_queries.frame(connection, "history_sessions", suite=suite).to_dicts()
    newest = sessions[0]["session_id"]
    cases = named_queries.frame(connection, "cases", newest).get_column("case_name").to_list()
    points = named_queries.by_suite(named_queries.frame(connection, "history", suite=suite), cases)
    shared = named_queries.frame(connection, "shared_changes", suite=suite).to_dicts()
    return History(
        suite=suite,
        sessions=sessions,
        points=points,
        shared=[{**dict.fromkeys(points.columns), "placement": "", **row} for row in shared],
    )
