"""The facts in which runs of a session differ although they are compared with each other, in sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import duckdb

from analysis.database.rows import Row, fetch_rows


def read(connection: duckdb.DuckDBPyConnection, session_id: str) -> list[Row]:
    """Key and class of every fact that differs between the session's runs, from the table fingerprint."""
    query = "SELECT DISTINCT key, class FROM fingerprint WHERE session_id = $1 AND differs ORDER BY key"
    return fetch_rows(connection, query, [session_id])


def sentences(differing: Iterable[Row]) -> Iterator[str]:
    """The sentences, without values and without untrusted text; none if nothing differs. `differing` has
    `key` and `class` of every fact that differs."""
    rows = list(differing)
    keys = sorted({_plain(row["key"]) for row in rows if row["class"] == "must_equal"})
    if keys:
        yield (
            f"Runs of this session differ in what must be equal: {', '.join(keys)}. Speedups and intervals include "
            "these differences."
        )
    if any(row["key"] == "nodes" for row in rows):
        yield (
            "Repeats of one size ran on different nodes: intervals include the differences between these nodes."
        )


def _plain(key: str) -> str:
    """The fact in plain words; the user named files."""
    if key.startswith("content of "):
        return "code"
    return key.replace("_", " ") if re.fullmatch(r"[a-z_]{1,40}", key) else "other facts"
