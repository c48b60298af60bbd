"""Rules of one's own are asked at load, each for itself: one that fails on the rows is left out, the others stay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import duckdb

from analysis import diagnose, own_rule_files, rules
from analysis.database import LOCKED, database_path, transaction
from analysis.errors import AnalysisError
from analysis.rules import Rule

_OWN_RULES = "SELECT finding, title, severity, meaning, definition FROM diagnosis_rules WHERE is_own"
_FINDING_OF_OWN = "SELECT finding FROM diagnosis_rules WHERE is_own"
_HOLLOW = "session_id IS NULL OR certainty IS NULL OR evidence IS NULL OR advice IS NULL"
_UNSURE = "certainty NOT IN ('shown', 'likely')"
_LONGEST = 2000
_LONG = f"greatest(length(evidence), length(advice), length(knob)) > {_LONGEST}"
_MOST = 1000
_MANY = (
    f"session_id IN (SELECT session_id FROM findings WHERE finding = $1 GROUP BY 1 HAVING count(*) > {_MOST})"  # noqa: S608
)
_NOTE_PROBLEM = "UPDATE diagnosis_rules SET problem = $2 WHERE is_own AND finding = $1"
LIMIT_S = 30.0
"""For one rule over all sessions."""
_AGAIN_S = 0.05


def remembered(results: Path) -> list[Rule]:
    """Those that the database has, whichever version of scalebench made it: its next load is to have them, too."""
    path = database_path(results)
    if not path.is_file():
        return []
    try:
        with duckdb.connect(path, read_only=True, config=dict(LOCKED)) as connection:
            found = connection.execute(f"{_OWN_RULES} ORDER BY finding").fetchall()
    except duckdb.Error:  # what is wrong with the file is said when it is opened for writing
        return []
    names = ("finding", "title", "severity", "meaning", "definition")
    return [Rule(is_own=True, **dict(zip(names, row, strict=True))) for row in found]


def make_due(connection: duckdb.DuckDBPyConnection) -> None:
    """Rules are asked again of all sessions where one came, changed or went. Runs inside the load's transaction."""
    connection.execute("UPDATE diagnosis_rules SET is_due = true WHERE is_own")


def ask(
    connection: duckdb.DuckDBPyConnection, own: Sequence[Rule], limit_s: float = LIMIT_S
) -> Iterator[tuple[Rule, str]]:
    """Make the database's own rules those of `own`, and ask each that is new or due. Yields each that is left out, and
    why: it stays in the database with that, and finds nothing. Stopped in between, what was not asked stays due. The
    connection is locked: the rules may be a stranger's, from a database that was sent."""
    with transaction(connection):
        _replace(connection, own)
    for rule in own:
        if not _is_asked(connection, rule) and (reason := _left_out(connection, rule, limit_s)):
            if own_rule_files.misnamed(rule) is None:  # else the findings of that name are a shipped rule's
                with transaction(connection):
                    connection.execute("DELETE FROM findings WHERE finding = $1", [rule.finding])
                    connection.execute(_NOTE_PROBLEM, [rule.finding, reason])
            yield rule, reason


def _replace(connection: duckdb.DuckDBPyConnection, own: Sequence[Rule]) -> None:
    """Those that the database did not have, or not so, or left out, are due."""
    kept = {name for (name,) in connection.execute(f"{_FINDING_OF_OWN} AND problem IS NULL").fetchall()}
    new = [rule for rule in own if rule.finding not in kept or not _is_known(connection, rule)]
    wanted = [[rule.finding for rule in own if rule not in new]]
    of_own = f"finding IN ({_FINDING_OF_OWN}) AND NOT list_contains($1, finding)"
    connection.execute(f"DELETE FROM findings WHERE {of_own}", wanted)  # noqa: S608
    connection.execute("DELETE FROM diagnosis_rules WHERE is_own AND NOT list_contains($1, finding)", wanted)
    rules.note(connection, [rule for rule in new if own_rule_files.misnamed(rule) is None])


def _is_known(connection: duckdb.DuckDBPyConnection, rule: Rule) -> bool:
    """Word for word."""
    found = connection.execute(f"{_OWN_RULES} AND finding = $1", [rule.finding]).fetchall()
    return found == [(rule.finding, rule.title, rule.severity, rule.meaning, rule.definition)]


def _is_asked(connection: duckdb.DuckDBPyConnection, rule: Rule) -> bool:
    """Whether what it finds in the sessions of today is in the database."""
    found = connection.execute(f"{_OWN_RULES} AND finding = $1 AND NOT is_due", [rule.finding]).fetchall()
    return bool(found)


def _left_out(connection: duckdb.DuckDBPyConnection, rule: Rule, limit_s: float) -> str | None:
    """Why it is; null where what it finds is in the database."""
    try:
        with _limited(connection, limit_s), transaction(connection):
            _ask(connection, rule)
    except duckdb.InterruptException:
        return f"takes longer than {limit_s:g} s"
    except duckdb.Error as error:
        return own_rule_files.says(error)
    except AnalysisError as error:
        return str(error)
    return None


@contextmanager
def _limited(connection: duckdb.DuckDBPyConnection, limit_s: float) -> Iterator[None]:
    """Interrupt after the limit, repeatedly: an interrupt that comes between two statements ends neither."""
    ended = Event()

    def interrupt() -> None:
        is_over = ended.wait(limit_s)
        while not is_over:
            connection.interrupt()
            is_over = ended.wait(_AGAIN_S)

    thread = Thread(target=interrupt, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()  # an interrupt on its way would end the next statement


def _ask(connection: duckdb.DuckDBPyConnection, rule: Rule) -> None:
    """Raises AnalysisError or DuckDB's where it cannot be a rule of this database."""
    # A remembered one was tried with other definitions.
    if reason := own_rule_files.problem(connection, rule):
        raise AnalysisError(reason)
    diagnose.ask_again(connection, rule)
    connection.execute("UPDATE diagnosis_rules SET is_due = false WHERE finding = $1", [rule.finding])
    for condition, reason in (
        (_HOLLOW, f"gives a row where one of {', '.join(rules.REQUIRED)} is null"),
        (_UNSURE, "gives a row whose certainty is neither shown nor likely"),
        (_LONG, f"gives a row with a text of more than {_LONGEST:,} characters"),
        (_MANY, f"gives more than {_MOST:,} rows of a session"),
        ("NOT isfinite(cost)", "gives a row whose cost is no number"),
        ("NOT isfinite(magnitude)", "gives a row whose magnitude is no number"),
    ):
        query = f"SELECT count(*) FROM findings WHERE finding = $1 AND ({condition})"  # noqa: S608
        (count,) = connection.execute(query, [rule.finding]).fetchone() or (0,)
        if count:
            raise AnalysisError(reason)
