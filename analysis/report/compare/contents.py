"""Everything a compare page shows, read in one go."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import duckdb
import polars as pl

from analysis.fetched import Row
from analysis.report import frames
from analysis.report.compare.groups import Sides, flat, ids, letter_of, together
from analysis.report.hyperparameters import Settings, settings_of

MARGIN = 0.02
"""Of the ratio: what lies within 1 ± margin is the same."""
MAX_REGRESSION = 0.05
"""A ratio that is certainly below 1 - MAX_REGRESSION is marked as a regression."""
_LONGEST_NAME = 22
"""Characters of a session's name in a legend."""


class Kind(NamedTuple):
    """What a case is beside its name; cases are compared where all of it is equal."""

    workload: str | None
    scaling: str
    strategy: str


@dataclass(frozen=True, kw_only=True)
class Side:
    """One of the sessions."""

    letter: str
    """`A` is the baseline."""
    name: str
    """The letter and what tells the session from others, short enough for a legend."""
    session: Row
    """queries/session.sql."""
    cases: Sequence[str]
    """In the order of the suite. A case is the same where its name and its kind are: sessions with different kinds
    under one name have different cases, with what differs in their names."""
    kinds: Mapping[str, Kind]
    """By the name that the suite gives the case."""
    settings: Settings
    environment: Mapping[str, str]
    """Fact -> value, of several nodes all values."""
    likeness: Mapping[str, str]
    """queries/likeness.sql."""
    coverage: Sequence[Row]
    not_ok: Sequence[Row]

    @property
    def session_id(self) -> str:
        return str(self.session["session_id"])


@dataclass(frozen=True, kw_only=True)
class Group:
    """What is one side of a ratio: a session, or several."""

    letter: str
    """`A`; of several `A with B`."""
    sessions: int


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The sessions, those of the baseline first, and what is drawn of all of them."""

    sides: Sequence[Side]
    groups: Sequence[Group]
    """The baseline first; of these the ratios are."""
    ratios: Sequence[pl.DataFrame]
    """queries/ratios.sql, of each group but the first."""
    curves: pl.DataFrame
    learning: pl.DataFrame

    @property
    def baseline(self) -> Group:
        return self.groups[0]

    @property
    def candidates(self) -> Sequence[Group]:
        return self.groups[1:]

    def is_baseline(self, place: int) -> bool:
        """Whether the side at that place is a session of the baseline."""
        return place < self.baseline.sessions


def read(connection: duckdb.DuckDBPyConnection, compared: Sides) -> Comparison:
    """The sessions must be in the database, each once."""
    session_ids = flat(compared)
    configurations = {
        name: frames.frame(connection, "configuration", name).to_dicts() for name in session_ids
    }
    names = _case_names([row for rows in configurations.values() for row in rows])
    sides = [
        _side(connection, session_id, place, configuration, names)
        for place, (session_id, configuration) in enumerate(configurations.items())
    ]
    baseline, *others = map(ids, compared)
    ratios = [
        frames.frame(
            connection, "ratios", baseline=baseline, candidate=other, margin=MARGIN, limit=MAX_REGRESSION
        )
        for other in others
    ]
    curves, learning = (
        frames.frame(connection, name, session_ids=session_ids)
        for name in ("compare_curves", "compare_learning")
    )
    return Comparison(
        sides=sides,
        groups=[
            Group(letter=letter, sessions=len(ids(side)))
            for letter, side in zip(
                together(compared, [side.letter for side in sides]), compared, strict=True
            )
        ],
        ratios=[frames.by_suite(_with_cases(rows, names), sides[0].cases) for rows in ratios],
        curves=_drawn(curves, sides, names),
        learning=_drawn(learning, sides, names),
    )


CaseNames = Mapping[tuple[str, Kind], str]
"""By the suite's name of the case and its kind."""


def _kind(row: Row) -> Kind:
    return Kind(row["workload"], row["scaling"], row["strategy"])


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
    """The parts of a kind that are not the same in all: `weak scaling`."""
    said = {"workload": f"{kind.workload}", "scaling": f"{kind.scaling} scaling", "strategy": kind.strategy}
    return ", ".join(
        said[part] for part in Kind._fields if len({getattr(other, part) for other in others}) > 1
    )


def _side(
    connection: duckdb.DuckDBPyConnection,
    session_id: str,
    place: int,
    configuration: Sequence[Row],
    names: CaseNames,
) -> Side:
    kinds = {row["case_name"]: _kind(row) for row in configuration}
    own = {case: names[case, kind] for case, kind in kinds.items()}

    def rows(name: str) -> list[Row]:
        return frames.frame(connection, name, session_id).to_dicts()

    def of_cases(found: Iterable[Row]) -> list[Row]:
        return [{**row, "case_name": own.get(row["case_name"], row["case_name"])} for row in found]

    letter = letter_of(place)
    return Side(
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
    """Without the time at its beginning, and with its end, which tells sessions of a suite apart."""
    name = frames.printable(re.sub(r"^\d{8}T\d{6}Z-", "", session_id))
    return name if len(name) <= _LONGEST_NAME else f"…{name[1 - _LONGEST_NAME :]}"


def _facts(rows: Sequence[Row]) -> dict[str, str]:
    values: dict[str, list[str]] = {}
    for row in rows:
        values.setdefault(row["key"], []).append(row["value"])
    return {key: ", ".join(found) for key, found in values.items()}


def _with_cases(rows: pl.DataFrame, names: CaseNames) -> pl.DataFrame:
    found = [names[row["case_name"], _kind(row)] for row in rows.iter_rows(named=True)]
    return rows.with_columns(pl.Series("case_name", found, dtype=pl.String))


def _drawn(rows: pl.DataFrame, sides: Sequence[Side], names: CaseNames) -> pl.DataFrame:
    """With `session`, the name from which the charts take colours, and `panel`: the case, of learning curves with the
    placement that was chosen."""
    rows = _with_cases(rows, names)
    ids = {side.session_id: side.name for side in sides}
    session = pl.col("session_id").replace_strict(ids, return_dtype=pl.String)
    panel = pl.format("{} {}", "case_name", "chosen") if "chosen" in rows.columns else pl.col("case_name")
    rows = rows.with_columns(session.alias("session"), panel.alias("panel"))
    return rows.drop("case_name", *Kind._fields, "chosen", strict=False)
