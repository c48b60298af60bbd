"""The data of a comparison, read at once, and its sides: one session, or several that count as one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import duckdb
import polars as pl

from analysis.database.rows import Row
from analysis.report import named_queries
from analysis.report.sections.settings import Settings, settings_of

MARGIN = 0.02
"""A ratio within 1 ± margin is the same."""
MAX_REGRESSION = 0.05
"""A ratio whose interval is below 1 - MAX_REGRESSION is a regression."""
_LONGEST_NAME = 22
"""Characters of a session's name in a legend."""


class Kind(NamedTuple):
    """The kind of a case; cases with the same name are compared if their kinds are equal."""

    workload: str | None
    scaling: str
    strategy: str


@dataclass(frozen=True, kw_only=True)
class ComparedSession:
    """One of the sessions."""

    letter: str
    """`A` is the baseline."""
    name: str
    """The letter and the distinguishing part of the session's id, short enough for a legend."""
    session: Row
    """queries/session.sql."""
    cases: Sequence[str]
    """In the order of the suite. Cases with the same name but different kinds are different cases; then their names
    include the difference."""
    kinds: Mapping[str, Kind]
    """Name of the case in the suite -> kind."""
    settings: Settings
    environment: Mapping[str, str]
    """Fact -> value; if nodes differ, all values."""
    likeness: Mapping[str, str]
    """queries/likeness.sql."""
    coverage: Sequence[Row]
    not_ok: Sequence[Row]

    @property
    def session_id(self) -> str:
        return str(self.session["session_id"])


@dataclass(frozen=True, kw_only=True)
class Group:
    """One side of a ratio: a session, or several."""

    letter: str
    """`A`; for several sessions, `A with B`."""
    sessions: int


@dataclass(frozen=True, kw_only=True)
class ComparedSessions:
    """The sessions, those of the baseline first, with their ratios and curves."""

    sessions: Sequence[ComparedSession]
    groups: Sequence[Group]
    """The sides of the ratios, the baseline first."""
    ratios: Sequence[pl.DataFrame]
    """Rows of queries/ratios.sql for each group except the first."""
    curves: pl.DataFrame
    learning: pl.DataFrame

    @property
    def baseline(self) -> Group:
        return self.groups[0]

    @property
    def candidates(self) -> Sequence[Group]:
        return self.groups[1:]

    def is_baseline(self, place: int) -> bool:
        """Whether the session at this place belongs to the baseline."""
        return place < self.baseline.sessions


def flat_ids(comparison: ComparedSessions) -> list[Sequence[str]]:
    """The ids of each side, the baseline first."""
    left = iter(comparison.sessions)
    return [[next(left).session_id for _ in range(group.sessions)] for group in comparison.groups]


def read(connection: duckdb.DuckDBPyConnection, compared: Sides) -> ComparedSessions:
    """Read the sessions, which must be in the database and differ."""
    session_ids = flat(compared)
    configurations = {
        name: named_queries.frame(connection, "configuration", name).to_dicts() for name in session_ids
    }
    names = _case_names([row for rows in configurations.values() for row in rows])
    sessions = [
        _session(connection, session_id, place, configuration, names)
        for place, (session_id, configuration) in enumerate(configurations.items())
    ]
    baseline, *others = map(ids, compared)
    ratios = [
        named_queries.frame(
            connection, "ratios", baseline=baseline, candidate=other, margin=MARGIN, limit=MAX_REGRESSION
        )
        for other in others
    ]
    curves, learning = (
        named_queries.frame(connection, name, session_ids=session_ids)
        for name in ("compare_curves", "compare_learning")
    )
    return ComparedSessions(
        sessions=sessions,
        groups=[
            Group(letter=letter, sessions=len(ids(side)))
            for letter, side in zip(
                together(compared, [one.letter for one in sessions]), compared, strict=True
            )
        ],
        ratios=[named_queries.by_suite(_with_cases(rows, names), sessions[0].cases) for rows in ratios],
        curves=_drawn(curves, sessions, names),
        learning=_drawn(learning, sessions, names),
    )


CaseNames = Mapping[tuple[str, Kind], str]
"""(name of the case in the suite, kind) -> name on the page."""


def _kind(row: Row) -> Kind:
    return Kind(row["workload"], row["scaling_mode"], row["strategy"])


def _case_names(configurations: Iterable[Row]) -> CaseNames:
    kinds: dict[str, set[Kind]] = {}
    for row in configurations:
        kinds.setdefault(row["case_name"], set()).add(_kind(row))
    return {
        (case, kind): case if len(found) == 1 else f"{case} ({_apart(kind, found)})"
        for case, found in kinds.items()
        for kind in found
    }


def _apart(kind: Kind, others: Iterable[Kind]) -> str:
    """The parts of a kind that differ between cases: `weak scaling`."""
    said = {"workload": f"{kind.workload}", "scaling": f"{kind.scaling} scaling", "strategy": kind.strategy}
    return ", ".join(
        said[part] for part in Kind._fields if len({getattr(other, part) for other in others}) > 1
    )


def _session(
    connection: duckdb.DuckDBPyConnection,
    session_id: str,
    place: int,
    configuration: Sequence[Row],
    names: CaseNames,
) -> ComparedSession:
    kinds = {row["case_name"]: _kind(row) for row in configuration}
    own = {case: names[case, kind] for case, kind in kinds.items()}

    def rows(name: str) -> list[Row]:
        return named_queries.frame(connection, name, session_id).to_dicts()

    def of_cases(found: Iterable[Row]) -> list[Row]:
        return [{**row, "case_name": own.get(row["case_name"], row["case_name"])} for row in found]

    letter = letter_of(place)
    return ComparedSession(
        letter=letter,
        name=f"{letter} {_short(session_id)}",
        session=rows("session")[0],
        cases=[row["case_name"] for row in of_cases(rows("cases"))],
        kinds=kinds,
        settings=settings_of(of_cases(configuration)),
        environment=_facts(rows("environment")),
        likeness={row["key"]: row["value"] for row in rows("likeness")},
        coverage=of_cases(rows("coverage")),
        not_ok=of_cases(rows("not_ok")),
    )


def _short(session_id: str) -> str:
    """The id without the time at its start. A long one keeps its end, which distinguishes sessions of a suite."""
    name = named_queries.printable(re.sub(r"^\d{8}T\d{6}Z-", "", session_id))
    return name if len(name) <= _LONGEST_NAME else f"…{name[1 - _LONGEST_NAME :]}"


def _facts(rows: Sequence[Row]) -> dict[str, str]:
    values: dict[str, list[str]] = {}
    for row in rows:
        values.setdefault(row["key"], []).append(row["value"])
    return {key: ", ".join(found) for key, found in values.items()}


def _with_cases(rows: pl.DataFrame, names: CaseNames) -> pl.DataFrame:
    found = [names[row["case_name"], _kind(row)] for row in rows.iter_rows(named=True)]
    return rows.with_columns(pl.Series("case_name", found, dtype=pl.String))


def _drawn(rows: pl.DataFrame, sessions: Sequence[ComparedSession], names: CaseNames) -> pl.DataFrame:
    """The rows with two more columns: `session`, the name that has a colour, and `panel`, the case (with the chosen
    placement for learning curves)."""
    rows = _with_cases(rows, names)
    ids = {one.session_id: one.name for one in sessions}
    session = pl.col("session_id").replace_strict(ids, return_dtype=pl.String)
    panel = pl.format("{} {}", "case_name", "chosen") if "chosen" in rows.columns else pl.col("case_name")
    rows = rows.with_columns(session.alias("session"), panel.alias("panel"))
    return rows.drop("case_name", *Kind._fields, "chosen", strict=False)


Sides = Sequence[str | Sequence[str]]
"""The sides, the baseline first. Each is a session id, or a list of ids that count as one side."""


def of_ids(sides: Iterable[Sequence[str]]) -> list[str | list[str]]:
    return [ids[0] if len(ids) == 1 else list(ids) for ids in sides]


def ids(side: str | Sequence[str]) -> list[str]:
    return [side] if isinstance(side, str) else list(side)


def flat(sides: Sides) -> list[str]:
    """Every session, in the order of the letters A, B, C ..."""
    return [session_id for side in sides for session_id in ids(side)]


def together(sides: Sides, names: Sequence[str]) -> list[str]:
    """A name for each side, such as `A with B`. `names` are the sessions' names in the order of `flat`."""
    left = iter(names)
    return [" with ".join(next(left) for _ in ids(side)) for side in sides]


def letter_of(place: int) -> str:
    """The letter of a session: A ... Z, AA, AB ..."""
    before, last = divmod(place, 26)
    return (letter_of(before - 1) if before else "") + chr(ord("A") + last)
