"""Rules of diagnosis. Each is an SQL file: title, severity and meaning in its head, then one SELECT."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from analysis.database.sql_text import referred_to
from analysis.errors import AnalysisError

SEVERITIES = ("critical", "warning", "notice")
COLUMNS = {
    "session_id": "VARCHAR",
    "case_name": "VARCHAR",
    "nodes": "INTEGER",
    "ranks_per_node": "INTEGER",
    "threads": "INTEGER",
    "certainty": "VARCHAR",
    "cost": "DOUBLE",
    "magnitude": "DOUBLE",
    "evidence": "VARCHAR",
    "details": "VARCHAR",
    "advice": "VARCHAR",
    "alternatives": "VARCHAR",
    "caution": "VARCHAR",
    "options": "VARCHAR",
}
"""Columns that a rule's SELECT may give; the others are null. A finding about a whole case has no placement; one about
a session has no case. `magnitude`, in any unit, orders the placements of a finding without a cost. A terminal shows
`caution` (a side effect), but not `details` (further figures) or `alternatives` (other remedies)."""
REQUIRED = ("session_id", "certainty", "evidence", "advice")

NAME = re.compile(r"[a-z][a-z0-9_]*")
_HEAD = re.compile(r"^-- (title|severity|meaning): (.+(?:\n--   .+)*)$", re.MULTILINE)

_COMMENT = re.compile(r"(?:--.*(?:\n|$))+")


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One file of rules."""

    finding: str
    title: str
    severity: str
    meaning: str
    is_custom: bool
    definition: str
    """A SELECT, without a semicolon."""

    @property
    def fires(self) -> str:
        """When the rule fires: the comment between the head and the SELECT of its file; empty without one."""
        comment = _COMMENT.match(_HEAD.sub("", self.definition).lstrip())
        return " ".join(re.sub(r"^-- ?", "", comment[0], flags=re.MULTILINE).split()) if comment else ""

    def reads(self) -> set[str]:
        """Names of the relations and functions that it uses."""
        return referred_to(self.definition)


def read(folder: Path, *, is_custom: bool = False) -> list[Rule]:
    """The rules in a folder, by name. Raises AnalysisError if a file has no complete head or no valid name."""
    paths = sorted(path for path in folder.iterdir() if path.suffix.lower() == ".sql")
    return [_rule(path, is_custom=is_custom) for path in paths]


def _rule(path: Path, *, is_custom: bool) -> Rule:
    if not NAME.fullmatch(path.stem) or path.suffix != ".sql":
        raise AnalysisError(f"{path}: a rule's file is named after what it finds: a-z, 0-9 and _, then .sql")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise AnalysisError(f"{path}: cannot be read as text: {error}") from error
    head = {key: re.sub(r"\n--   ", " ", value) for key, value in _HEAD.findall(text)}
    if missing := [key for key in ("title", "severity", "meaning") if key not in head]:
        raise AnalysisError(f"{path}: its head has no line `-- {missing[0]}: ...`")
    if head["severity"] not in SEVERITIES:
        raise AnalysisError(
            f"{path}: severity is {head['severity']!r}: it must be one of {', '.join(SEVERITIES)}"
        )
    return Rule(finding=path.stem, is_custom=is_custom, definition=text.strip().removesuffix(";"), **head)


def note(connection: duckdb.DuckDBPyConnection, rules: Sequence[Rule]) -> None:
    """Add rules to `diagnosis_rules`, and mark custom rules as due to run."""
    rows = [{**vars(rule), "is_due": rule.is_custom} for rule in rules]
    if rows:  # a single statement: executemany takes several times as long
        connection.execute("INSERT INTO diagnosis_rules BY NAME SELECT unnest($1, recursive := true)", [rows])
