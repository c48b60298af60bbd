"""Run a user's custom rules at load, each in its own transaction: a rule that fails does not affect the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import duckdb

from analysis.database.connections import LOCKED, database_path, transaction
from analysis.diagnosis import custom_rules, rules, run_rules
from analysis.diagnosis.rules import Rule
from analysis.errors import AnalysisError

_CUSTOM_RULES = "SELECT finding, title, severity, meaning, definition FROM diagnosis_rules WHERE is_custom"
_CUSTOM_NAMES = "SELECT finding FROM diagnosis_rules WHERE is_custom"
_INCOMPLETE = "session_id IS NULL OR certainty IS NULL OR evidence IS NULL OR advice IS NULL"
_OTHER_CERTAINTY = "certainty NOT IN ('shown', 'likely', 'estimated')"
_LARGEST_TEXT = 2000
_TEXTS = ("evidence", "details", "advice", "alternatives", "caution", "options")
_LONG = f"greatest({', '.join(f'length({name})' for name in _TEXTS)}) > {_LARGEST_TEXT}"
_MOST_ROWS = 1000
_MANY = f"session_id IN (SELECT session_id FROM findings WHERE finding = $1 GROUP BY 1 HAVING count(*) > {_MOST_ROWS})"  # noqa: S608
_NOTE_PROBLEM = "UPDATE diagnosis_rules SET problem = $2 WHERE is_custom AND finding = $1"
LIMIT_S = 30.0
"""Time limit of one rule over all sessions."""
_INTERRUPT_EVERY_S = 0.05


def remembered(results: Path) -> list[Rule]:
    """The database's custom rules, which its next load keeps, even if another version of scalebench made it."""
    path = database_path(results)
    if not path.is_file():
        return []
    try:
        with duckdb.connect(path, read_only=True, config=dict(LOCKED)) as connection:
            found = connection.execute(f"{_CUSTOM_RULES} ORDER BY finding").fetchall()
    except duckdb.Error:  # the load reports it when it opens the file for writing
        return []
    names = ("finding", "title", "severity", "meaning", "definition")
    return [Rule(is_custom=True, **dict(zip(names, row, strict=True))) for row in found]


def make_due(connection: duckdb.DuckDBPyConnection) -> None:
    """Mark every custom rule as due, because the sessions have changed. Part of the load's transaction."""
    connection.execute("UPDATE diagnosis_rules SET is_due = true WHERE is_custom")


def run_due(
    connection: duckdb.DuckDBPyConnection, custom: Sequence[Rule], limit_s: float = LIMIT_S
) -> Iterator[tuple[Rule, str]]:
    """Make `custom` the database's custom rules, and run those that are new or due.

    Yields each rule that fails, with the reason; the database keeps both, without findings. If the load is stopped
    in between, the remaining rules stay due. The connection is locked, because the rules may come from someone else's
    database."""
    with transaction(connection):
        _replace(connection, custom)
    for rule in custom:
        if not _is_current(connection, rule) and (reason := _failure(connection, rule, limit_s)):
            if custom_rules.misnamed(rule) is None:  # else the findings of that name belong to a shipped rule
                with transaction(connection):
                    connection.execute("DELETE FROM findings WHERE finding = $1", [rule.finding])
                    connection.execute(_NOTE_PROBLEM, [rule.finding, reason])
            yield rule, reason


def _replace(connection: duckdb.DuckDBPyConnection, custom: Sequence[Rule]) -> None:
    """Mark rules that are new, changed or failed before as due."""
    kept = {name for (name,) in connection.execute(f"{_CUSTOM_NAMES} AND problem IS NULL").fetchall()}
    new = [rule for rule in custom if rule.finding not in kept or not _is_known(connection, rule)]
    wanted = [[rule.finding for rule in custom if rule not in new]]
    of_these = f"finding IN ({_CUSTOM_NAMES}) AND NOT list_contains($1, finding)"
    connection.execute(f"DELETE FROM findings WHERE {of_these}", wanted)  # noqa: S608
    connection.execute(
        "DELETE FROM diagnosis_rules WHERE is_custom AND NOT list_contains($1, finding)", wanted
    )
    rules.note(connection, [rule for rule in new if custom_rules.misnamed(rule) is None])


def _is_known(connection: duckdb.DuckDBPyConnection, rule: Rule) -> bool:
    """Whether the database has exactly this rule."""
    found = connection.execute(f"{_CUSTOM_RULES} AND finding = $1", [rule.finding]).fetchall()
    return found == [(rule.finding, rule.title, rule.severity, rule.meaning, rule.definition)]


def _is_current(connection: duckdb.DuckDBPyConnection, rule: Rule) -> bool:
    """Whether the database has the rule's findings for all current sessions."""
    found = connection.execute(f"{_CUSTOM_RULES} AND finding = $1 AND NOT is_due", [rule.finding]).fetchall()
    return bool(found)


def _failure(connection: duckdb.DuckDBPyConnection, rule: Rule, limit_s: float) -> str | None:
    """Run the rule and store its findings. Returns why it failed; null if it did not."""
    is_over = Event()
    try:
        # In this order: an interrupt that came in a rollback would leave the transaction open.
        with transaction(connection), _limited(connection, limit_s, is_over):
            _run(connection, rule)
    except (duckdb.Error, AnalysisError) as error:
        if is_over.is_set():  # the interrupt is in errors of several classes, depending on what it ends
            return f"takes longer than {limit_s:g} s"
        return custom_rules.duckdb_message(error) if isinstance(error, duckdb.Error) else str(error)
    return None


@contextmanager
def _limited(connection: duckdb.DuckDBPyConnection, limit_s: float, is_over: Event) -> Iterator[None]:
    """Set `is_over` after the limit, and interrupt repeatedly: an interrupt between two statements ends neither."""
    ended = Event()

    def interrupt() -> None:
        if ended.wait(limit_s):
            return
        is_over.set()
        connection.interrupt()
        while not ended.wait(_INTERRUPT_EVERY_S):
            connection.interrupt()

    thread = Thread(target=interrupt, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()  # a late interrupt would end the next statement


def _run(connection: duckdb.DuckDBPyConnection, rule: Rule) -> None:
    """Run the rule and store its findings. Raises AnalysisError or DuckDB's error if this database cannot have it."""
    # A rule that an older database kept was checked with other definitions.
    if reason := custom_rules.problem(connection, rule):
        raise AnalysisError(reason)
    run_rules.find_again(connection, rule)
    connection.execute("UPDATE diagnosis_rules SET is_due = false WHERE finding = $1", [rule.finding])
    for condition, reason in (
        (_INCOMPLETE, f"gives a row where one of {', '.join(rules.REQUIRED)} is null"),
        (_OTHER_CERTAINTY, "gives a row whose certainty is none of shown, likely, estimated"),
        (_LONG, f"gives a row with a text of more than {_LARGEST_TEXT:,} characters"),
        (_MANY, f"gives more than {_MOST_ROWS:,} rows of a session"),
        ("NOT isfinite(cost)", "gives a row whose cost is no number"),
        ("NOT isfinite(magnitude)", "gives a row whose magnitude is no number"),
    ):
        query = f"SELECT count(*) FROM findings WHERE finding = $1 AND ({condition})"  # noqa: S608
        (count,) = connection.execute(query, [rule.finding]).fetchone() or (0,)
        if count:
            raise AnalysisError(reason)
