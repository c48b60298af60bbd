"""The rules of `diagnosis`: one SQL file each, its head is its title, severity and meaning, its body one SELECT."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from analysis.errors import AnalysisError
from analysis.sql_words import referred_to

SEVERITIES = ("critical", "warning", "notice")
FINDINGS = "diagnosis_findings"
"""The view that all rules together make."""
OWN_FINDINGS = "own_findings"
"""The table of what rules of one's own found at load."""
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


def view(rules: Sequence[Rule], views: Mapping[str, str]) -> str:
    """The view of everything that is found: by `rules`, and by those of one's own at load. `views` are the bodies of
    views by their names, each after those that it reads: what the rules ask of them stands in one query, in which what
    several read is computed once. Planned one within the other they would take three times as long."""
    needed = _needed(rules, views)
    readers = Counter(name for rule in rules for name in rule.reads())
    readers.update(name for body in needed.values() for name in referred_to(body))
    kinds = {name: "MATERIALIZED " if readers[name] > 1 else "" for name in needed}
    common = ",\n".join(f"{name} AS {kinds[name]}(\n{body}\n)" for name, body in needed.items())
    parts = [f"FROM {OWN_FINDINGS}"]
    parts += [f"SELECT '{rule.finding}' AS finding, * FROM (\n{rule.definition}\n)" for rule in rules]  # noqa: S608
    found = "\nUNION ALL BY NAME\n".join(parts)
    return f"CREATE OR REPLACE VIEW {FINDINGS} AS\n{f'WITH {common}' if common else ''}\n{found}"


def _needed(rules: Sequence[Rule], views: Mapping[str, str]) -> dict[str, str]:
    """Those views that the rules read, and those that these read in turn; in the order of `views`."""
    wanted = {name for rule in rules for name in rule.reads()}
    for name, body in reversed(list(views.items())):
        if name in wanted:
            wanted |= referred_to(body)
    return {name: body for name, body in views.items() if name in wanted}


def create(connection: duckdb.DuckDBPyConnection, rules: Sequence[Rule], views: Mapping[str, str]) -> None:
    """Make the view, and note the rules."""
    connection.execute(view(rules, views))
    for rule in rules:
        note(connection, rule)


def note(connection: duckdb.DuckDBPyConnection, rule: Rule) -> None:
    """Add it to `diagnosis_rules`."""
    row = (rule.finding, rule.title, rule.severity, rule.meaning, rule.is_own, rule.definition, None)
    connection.execute("INSERT INTO diagnosis_rules VALUES (?, ?, ?, ?, ?, ?, ?)", row)
