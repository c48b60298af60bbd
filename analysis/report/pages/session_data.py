"""The data of a session's page, read at once: frames by the name of their query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb
import polars as pl

from analysis.database.rows import Row
from analysis.report import named_queries
from analysis.report.charts import all_charts
from analysis.wording.machine import Machine

_TABLES = (
    "summary", "coverage", "not_ok", "runs", "environment", "fingerprint", "configuration", "laws", "strategies",
    "batches", "exchanges", "multiplications", "hardware_use", "straggler_counts", "slow_ranks", "parity",
    "predictions", "losses", "time_to_target", "findings", "rules", "perturbation", "profiles", "published",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Contents:
    """The data of one session."""

    session: Row
    """queries/session.sql."""
    cases: Sequence[str]
    """In the order of the suite."""
    tables: Mapping[str, pl.DataFrame]
    """Rows of the page's tables."""
    charts: Mapping[str, pl.DataFrame]
    """Rows of each chart; empty if there is nothing to draw."""

    def rows(self, table: str) -> list[Row]:
        return self.tables[table].to_dicts()

    @property
    def machine(self) -> Machine:
        return Machine(
            exchanges=self.rows("exchanges"),
            multiplications=self.rows("multiplications"),
            profiles=self.rows("profiles"),
        )

    @property
    def is_of_a_machine(self) -> bool:
        """Whether the session trained nothing, but measured the machine."""
        measured = any(
            not self.charts[name].is_empty()
            for name, chart in all_charts().items()
            if chart.section == "machine"
        )
        return measured and self.tables["summary"].get_column("throughput").is_null().all()


def read(connection: duckdb.DuckDBPyConnection, session_id: str) -> Contents:
    """Read the data of a session, which must be in the database."""
    cases = named_queries.frame(connection, "cases", session_id).get_column("case_name").to_list()

    def rows(name: str) -> pl.DataFrame:
        return named_queries.by_suite(named_queries.frame(connection, name, session_id), cases)

    return Contents(
        session=rows("session").row(0, named=True),
        cases=cases,
        tables={name: rows(name) for name in _TABLES},
        charts={name: rows(name) for name in all_charts()},
    )
