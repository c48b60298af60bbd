"""Measure the cost of one session in a database of many: load, summary and report, and every view over all sessions.

python benchmarks/many_sessions.py RESULTS SESSION --sessions 1 10 100 1000

Copies the session, loads it, and multiplies its rows under other names, each session an hour older than the one before:
one long history of one suite, the worst case. Then removes the session and loads it again. Prints Markdown tables of
processor time over all threads, the minimum of several attempts; commands include the interpreter's start.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import duckdb

from analysis.database import connections, schema
from analysis.loading import insert
from analysis.loading.load import load

MULTIPLY = """
INSERT INTO {table} BY NAME
SELECT {table}.* REPLACE (session_id || '_' || number AS session_id)
FROM {table}, (SELECT range AS number FROM range(1, $sessions)) AS numbers
WHERE session_id = $session_id
"""
AGE = """
UPDATE sessions SET created_at = created_at - to_hours(split_part(session_id, '_', -1)::INTEGER)
WHERE session_id <> $session_id
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("results", type=Path)
    parser.add_argument("session")
    parser.add_argument("--sessions", type=int, nargs="+", default=[1, 10, 100, 1000])
    parser.add_argument("--times", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="scalebench-many-") as folder:
        columns = [
            _column(Path(folder) / str(n), asked.results / asked.session, n, asked.times)
            for n in asked.sessions
        ]
    _print("seconds of processor time", asked.sessions, columns)


def _column(results: Path, session: Path, sessions: int, times: int) -> dict[str, float]:
    """Processor time of every command and view with this number of sessions."""
    shutil.copytree(session, results / session.name)
    load(results)
    with duckdb.connect(connections.database_path(results)) as connection:
        _multiply(connection, session.name, sessions)
    bench = [sys.executable, "-m", "bench"]
    place = ["--results", str(results)]
    return {
        "`bench load` of one more": min(_loaded_anew(results, session.name) for _ in range(times)),
        "`bench summary SESSION`": _command([*bench, "summary", session.name, *place], times),
        "`bench report SESSION`": _command(
            [*bench, "report", session.name, *place, "--out", str(results / "public")], times
        ),
        **_views(results, times),
    }


def _multiply(connection: duckdb.DuckDBPyConnection, session_id: str, sessions: int) -> None:
    for table in schema.session_tables():
        query = MULTIPLY.format(table=table)
        connection.execute(query, {"session_id": session_id, "sessions": sessions})
    connection.execute(AGE, {"session_id": session_id})


def _loaded_anew(results: Path, session_id: str) -> float:
    with duckdb.connect(connections.database_path(results)) as connection:
        insert.forget(connection, [session_id])
    return _processor([sys.executable, "-m", "bench", "load", str(results)])


def _command(words: list[str], times: int) -> float:
    return min(_processor(words) for _ in range(times))


def _processor(words: list[str]) -> float:
    before = os.times()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def _views(results: Path, times: int) -> dict[str, float]:
    """Processor time to read all rows of each view."""
    with connections.reader(results) as connection:
        return {
            f"`{name}`": min(_asked(connection, name) for _ in range(times))
            for name in [*schema.derived(), *schema.views()]
        }


def _asked(connection: duckdb.DuckDBPyConnection, view: str) -> float:
    began = time.process_time()
    connection.sql(f"FROM {view}").to_arrow_table()
    return time.process_time() - began


def _print(title: str, sessions: Iterable[int], columns: list[dict[str, float]]) -> None:
    print(f"| {title} | " + " | ".join(f"{n:,}" for n in sessions) + " |")
    print("| --- |" + " --- |" * len(columns))
    for name in columns[0]:
        print(f"| {name} | " + " | ".join(f"{column[name]:.2f}" for column in columns) + " |")


if __name__ == "__main__":
    main()
