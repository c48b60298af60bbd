"""The rules of diagnosis: one SQL file each, its head is its title, severity and meaning, its body one SELECT."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from analysis.errors import AnalysisError
from analysis.sql_words import referred_to

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
    "advice": "VARCHAR",
    "knob": "VARCHAR",
}
"""What a rule's SELECT may give; what it leaves out is null. Of a whole case there is no placement, of a session no
case. By `magnitude`, in whatever unit, a finding without a cost is worse at one placement than at another."""
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
    is_own: bool
    definition: str
    """A SELECT, without a semicolon."""

    @property
    def fires(self) -> str:
        """When it does, in words: what the file says between its head and its SELECT; empty where it says nothing."""
        comment = _COMMENT.match(_HEAD.sub("", self.definition).lstrip())
        return " ".join(re.sub(r"^-- ?", "", comment[0], flags=re.MULTILINE).split()) if comment else ""

    def reads(self) -> set[str]:
        """Names that it reads from or calls."""
        return referred_to(self.definition)


def read(folder: Path, *, is_own: bool = False) -> list[Rule]:
    """Of a folder's files, by name. Raises AnalysisError where a file has no whole head or no usable name."""
    paths = sorted(path for path in folder.iterdir() if path.suffix.lower() == ".sql")
    return [_rule(path, is_own=is_own) for path in paths]


def _rule(path: Path, *, is_own: bool) -> Rule:
    if not NAME.fullmatch(path.stem) or path.suffix != ".sql":
        raise AnalysisError(f"{path}: a rule's file is named by what it finds: a-z, 0-9 and _, then .sql")
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
    return Rule(finding=path.stem, is_own=is_own, definition=text.strip().removesuffix(";"), **head)


def note(connection: duckdb.DuckDBPyConnection, rules: Sequence[Rule]) -> None:
    """Add them to `diagnosis_rules`; those of one's own are due."""
    rows = [
        (
            rule.finding,
            rule.title,
            rule.severity,
            rule.meaning,
            rule.is_own,
            rule.definition,
            None,
            rule.is_own,
        )
        for rule in rules
    ]
    if rows:
        connection.executemany("INSERT INTO diagnosis_rules VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
