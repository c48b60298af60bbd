"""The macro newest_session: by time, not by name."""

from __future__ import annotations

from datetime import datetime, timedelta


def add_session(connection, session_id, suite, created_at):
    columns = "$1 AS session_id, $2 AS suite, $3 AS created_at"
    connection.execute(f"INSERT INTO sessions BY NAME SELECT {columns}", [session_id, suite, created_at])


def test_the_newest_session_is_the_one_that_began_last_not_the_last_name(in_memory):
    noon = datetime(2026, 11, 21, 12)
    in_memory.begin()
    newest = in_memory.sql(
        "SELECT newest_session(), newest_session('smoke'), newest_session('no such suite')"
    )
    assert newest.fetchall() == [(None, None, None)]
    add_session(in_memory, "after the fix", "smoke", noon)
    add_session(in_memory, "before", "smoke", noon - timedelta(hours=1))
    add_session(in_memory, "a time that is unknown", "smoke", None)
    add_session(in_memory, "20261121T130000Z-laws-3f9a", "laws", noon + timedelta(hours=1))
    newest = in_memory.sql(
        "SELECT newest_session(), newest_session('smoke'), newest_session('no such suite')"
    )
    assert newest.fetchall() == [("20261121T130000Z-laws-3f9a", "after the fix", None)]
    in_memory.rollback()
