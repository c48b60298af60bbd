"""Rules of one's own are asked at load, each for itself: one that fails on the rows is left out, the others stay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb

from analysis import own_rule_files, rules
from analysis.database import database_path, transaction
from analysis.errors import AnalysisError
from analysis.rules import Rule

_OWN_RULES = "SELECT finding, title, severity, meaning, definition FROM diagnosis_rules WHERE is_own"
_HOLLOW = "session_id IS NULL OR certainty IS NULL OR evidence IS NULL OR advice IS NULL"
_UNSURE = "certainty NOT IN ('shown', 'likely')"
_INSERT = "INSERT INTO own_findings BY NAME SELECT '{}' AS finding, * FROM (\n{}\n)"


def remembered(results: Path) -> list[Rule]:
    """Those that the database has, whichever version of scalebench made it: its next load is to have them, too."""
    path = database_path(results)
    if not path.is_file():
        return []
    try:
        with duckdb.connect(path, read_only=True) as connection:
            found = connection.execute(f"{_OWN_RULES} ORDER BY finding").fetchall()
    except duckdb.Error:  # what is wrong with the file is said when it is opened for writing
        return []
    names = ("finding", "title", "severity", "meaning", "definition")
    return [Rule(is_own=True, **dict(zip(names, row, strict=True))) for row in found]


def ask(connection: duckdb.DuckDBPyConnection, own: Sequence[Rule]) -> Iterator[tuple[Rule, str]]:
    """Make the database's own rules and what they find those of `own`. Yields each that is left out, and why. The
    connection is locked: the rules may be a stranger's, from a database that was sent."""
    connection.execute("DELETE FROM diagnosis_rules WHERE is_own")
    connection.execute("DELETE FROM own_findings")
    for rule in own:
        try:
            with transaction(connection):
                _ask(connection, rule)
        except duckdb.Error as error:
            yield rule, own_rule_files.says(error)
        except AnalysisError as error:
            yield rule, str(error)


def _ask(connection: duckdb.DuckDBPyConnection, rule: Rule) -> None:
    """Raises AnalysisError or DuckDB's where it cannot be a rule of this database."""
    if reason := own_rule_files.problem(
        connection, rule
    ):  # a remembered one was tried with other definitions
        raise AnalysisError(reason)
    connection.execute(_INSERT.format(rule.finding, rule.definition))
    for condition, reason in (
        (_HOLLOW, f"gives a row where one of {', '.join(rules.REQUIRED)} is null"),
        (_UNSURE, "gives a row whose certainty is neither shown nor likely"),
        ("NOT isfinite(cost)", "gives a row whose cost is no number"),
        ("NOT isfinite(magnitude)", "gives a row whose magnitude is no number"),
    ):
        query = f"SELECT count(*) FROM own_findings WHERE finding = $1 AND ({condition})"  # noqa: S608
        (count,) = connection.execute(query, [rule.finding]).fetchone() or (0,)
        if count:
            raise AnalysisError(reason)
    rules.note(connection, rule)
