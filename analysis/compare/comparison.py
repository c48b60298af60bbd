"""The result of a comparison: the rows of the macro in the order of the plan, and everything else that differs."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from analysis.compare.sides import MOST, Side, sides
from analysis.database.rows import Row, fetch_rows, session_rows
from analysis.errors import AnalysisError
from analysis.wording.failures import FAILED, not_ok_counts
from analysis.wording.plain_text import listed

USER_FILE = "content of "
"""How the fingerprint's keys begin whose values are digests of files of the user's code."""
_NOT_OF_THE_MACHINE = (
    "settings",
    "training_code",
    USER_FILE,
    "user_",
    "commit",
    "scalebench",
    "nodes",
    "threads",
)
"""How the fingerprint's keys begin that say what was measured, or only name a machine; the others describe it."""
QUERY = """FROM compare_sides(
    $baseline, $baseline_case, $candidate, $candidate_case, margin := $margin, max_regression := $max_regression
)
ORDER BY case_name, workers, nodes, threads"""


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A fact of the fingerprint that is not the same on both sides."""

    key: str
    must_equal: bool
    """False: the difference is only worth knowing."""
    baseline: str | None
    candidate: str | None
    cases: Sequence[str] | None
    """The cases in which it differs; null: all cases."""

    @property
    def user_file(self) -> str | None:
        """The file of the user's code that differs; null for other facts, and for a file that only one side has."""
        return (
            self.key.removeprefix(USER_FILE) if self.key.startswith(USER_FILE) and self.must_equal else None
        )


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two sides and all that the output shows about them."""

    baseline: Side
    candidate: Side
    margin: float
    """A ratio within 1 ± margin is the same."""
    max_regression: float
    """A ratio fails if it is certainly below 1 - max_regression."""
    rows: Sequence[Row]
    """Rows of compare_sides. A row without a ratio says in `trouble` how its repeats ended. `no_longer_trains` is true
    if only the baseline has ok repeats, and a repeat of the candidate failed."""
    alone: tuple[Sequence[str], Sequence[str]]
    """Cases, with placements, that only the baseline ran, and those that only the candidate ran."""
    differences: Sequence[Difference]
    settings: Mapping[str, str]
    """Case -> its training settings that differ: `train.precision: fp32 → bf16`."""
    imported: Sequence[str]
    """Sessions that another program measured."""
    busy: Sequence[str]
    """Sessions during which other processes used much of the ranks' CPUs."""

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of QUERY."""
        return _parameters(self.baseline, self.candidate, self.margin, self.max_regression)

    @property
    def unlike(self) -> Sequence[Difference]:
        """The differences in facts that must be equal."""
        return [found for found in self.differences if found.must_equal]

    @property
    def other_machine(self) -> Sequence[Difference]:
        """The differences of hardware, system and libraries, including facts that only one side has."""
        return [found for found in self.differences if not found.key.startswith(_NOT_OF_THE_MACHINE)]

    @property
    def is_known(self) -> bool:
        """Whether every repeat behind a ratio has a fingerprint."""
        return all(row["is_fingerprinted"] for row in self.rows if row["ratio"] is not None)

    @property
    def has_regression(self) -> bool:
        """Whether a regression is certain."""
        return any(row["regression"] for row in self.rows)

    @property
    def fails(self) -> bool:
        """Whether a regression is certain or a row no longer trains."""
        return self.has_regression or any(row["no_longer_trains"] for row in self.rows)


def compare(
    connection: duckdb.DuckDBPyConnection,
    baseline: str,
    candidate: str,
    *,
    margin: float,
    max_regression: float,
) -> Comparison:
    """Compare two sides, written as `sides.sides` takes them; `margin` and `max_regression` are fractions below 1.

    Raises AnalysisError if a side names no session, or if no row has a ratio."""
    both = sides(connection, baseline, candidate)
    rows = fetch_rows(connection, QUERY, _parameters(*both, margin, max_regression))
    rows_of_sides = [_rows_of(connection, side) for side in both]
    ran = [dict.fromkeys(map(_place, each)) for each in rows_of_sides]
    if not rows:
        alone = f"{both[0].name} has {_listed(ran[0])}; {both[1].name} has {_listed(ran[1])}"
        raise AnalysisError(
            "no case in common: both sides need a case with the same name, workload, scaling, strategy and unit of "
            f"throughput. {_only_named(both, rows_of_sides) or alone}"
        )
    _add_troubles(connection, rows, both)
    if all(row["ratio"] is None for row in rows):
        if _measured_machines(connection, both):
            raise AnalysisError(
                'nothing to compare: these runs train nothing, so they have no throughput; `bench sql "FROM '
                'collective_peaks"` and `bench sql "FROM matmul_peaks"` show what their machines can do'
            )
        raise AnalysisError(
            f"nothing to compare: no case in common has an ok repeat on both sides: {_listed(map(_place, rows))}. "
            "`bench summary` says why runs are not ok"
        )
    found_differences = _differences(rows)
    return Comparison(
        baseline=both[0],
        candidate=both[1],
        margin=margin,
        max_regression=max_regression,
        rows=_by_plan(connection, both, rows),
        alone=(
            _without(ran[0], ((row["baseline_case"], row["placement"]) for row in rows)),
            _without(ran[1], ((row["case_name"], row["placement"]) for row in rows)),
        ),
        differences=found_differences,
        settings=_settings(connection, both)
        if any(found.key == "settings" for found in found_differences)
        else {},
        imported=_sessions_where(connection, both, "sessions", "imported IS NOT NULL"),
        busy=_sessions_where(connection, both, "other_work", "is_busy"),
    )


def _parameters(baseline: Side, candidate: Side, margin: float, max_regression: float) -> dict[str, Any]:
    return {
        "baseline": list(baseline.session_ids),
        "baseline_case": baseline.case,
        "candidate": list(candidate.session_ids),
        "candidate_case": candidate.case,
        "margin": margin,
        "max_regression": max_regression,
    }


def _sessions_where(
    connection: duckdb.DuckDBPyConnection, both: Sequence[Side], table: str, condition: str
) -> list[str]:
    query = f"SELECT session_id FROM {table} WHERE {condition} AND list_contains($1, session_id) ORDER BY 1"  # noqa: S608
    names = [name for side in both for name in side.session_ids]
    return [session_id for (session_id,) in connection.execute(query, [names]).fetchall()]


Places = dict[tuple[str, str], None]
"""Case and placement."""


def _rows_of(connection: duckdb.DuckDBPyConnection, side: Side) -> list[Row]:
    query = "FROM compare_side($sessions, $only) ORDER BY case_name, workers, nodes, threads"
    return fetch_rows(connection, query, {"sessions": list(side.session_ids), "only": side.case})


_ALWAYS_EQUAL = ("workload", "axis", "throughput_unit")
"""Columns in which cases must agree even if both are named."""


def _only_named(both: Sequence[Side], ran: Sequence[Sequence[Row]]) -> str | None:
    """How the first case that both sides have differs, with the command that compares it nevertheless: cases that are
    named may differ in scaling and strategy. Null if there is none."""
    there = {_place(row): row for row in ran[0]}
    for row in ran[1]:
        old = there.get(_place(row))
        if old is None or both[0].case or any(old[key] != row[key] for key in _ALWAYS_EQUAL):
            continue
        name = row["case_name"]
        said = [
            f"its {word} is {old[key]} in {both[0].name} and {row[key]} in {both[1].name}"
            for key, word in (("scaling_mode", "scaling"), ("strategy", "strategy"))
            if old[key] != row[key]
        ]
        command = shlex.join(["bench", "compare", *(f"{side.said}:{name}" for side in both)])
        return f"{name}: {', '.join(said)}. `{command}` compares it nevertheless"
    return None


def _measured_machines(connection: duckdb.DuckDBPyConnection, both: Iterable[Side]) -> bool:
    query = "SELECT session_id FROM collective_peaks UNION SELECT session_id FROM matmul_peaks"
    measured = {row["session_id"] for row in fetch_rows(connection, query)}
    return all(session_id in measured for side in both for session_id in side.session_ids)


def _without(ran: Places, matched: Iterable[tuple[str, str]]) -> list[str]:
    """One text per case: `ddp 1x4 2x4`."""
    common = set(matched)
    sizes: dict[str, list[str]] = {}
    for case, placement in ran:
        if (case, placement) not in common:
            sizes.setdefault(case, []).append(placement)
    return [" ".join([case, *placements]) for case, placements in sizes.items()]


def _listed(places: Iterable[tuple[str, str]]) -> str:
    return listed(_without(dict.fromkeys(places), ()), MOST)


def _place(row: Row) -> tuple[str, str]:
    return row["case_name"], row["placement"]


def _add_troubles(connection: duckdb.DuckDBPyConnection, rows: Iterable[Row], both: Sequence[Side]) -> None:
    """Why a row has no ratio: `baseline: 3 oom`; and whether it trains on the baseline alone."""
    without = [row for row in rows if row["ratio"] is None]
    names, cases = ("baseline", "candidate"), ("baseline_case", "case_name")
    coverage = [_coverage(connection, side) for side in both] if without else []
    for row in rows:
        row |= {"trouble": "", "no_longer_trains": False}
    for row in without:
        ended = {
            name: found.get((row[case], row["placement"]), [])
            for name, case, found in zip(names, cases, coverage, strict=True)
            if row[f"{name}_repeats"] == 0
        }
        row["trouble"] = "; ".join(
            f"{name}: {', '.join(filter(None, map(not_ok_counts, found))) or 'no ok repeat'}"
            for name, found in ended.items()
        )
        row["no_longer_trains"] = ended.keys() == {"candidate"} and any(
            one[status] for one in ended["candidate"] for status in FAILED
        )


def _coverage(connection: duckdb.DuckDBPyConnection, side: Side) -> dict[tuple[str, str], list[Row]]:
    """A side's rows of `coverage`, one for each of its sessions, by case and placement."""
    query = "FROM coverage WHERE list_contains($1, session_id) ORDER BY session_id"
    found: dict[tuple[str, str], list[Row]] = {}
    for row in fetch_rows(connection, query, [list(side.session_ids)]):
        found.setdefault(_place(row), []).append(row)
    return found


def _by_plan(connection: duckdb.DuckDBPyConnection, both: Sequence[Side], rows: Sequence[Row]) -> list[Row]:
    """Rows by case, in the order of the candidate's suite, then by size."""
    planned = session_rows(connection, "coverage", both[1].session_ids[0])
    order = {name: place for place, name in enumerate(dict.fromkeys(row["case_name"] for row in planned))}
    return sorted(rows, key=lambda row: order.get(row["case_name"], len(order)))


def _settings(connection: duckdb.DuckDBPyConnection, both: Sequence[Side]) -> dict[str, str]:
    query = "FROM compare_settings($1, $2) WHERE settings IS NOT NULL ORDER BY case_name"
    return dict(connection.execute(query, [list(side.session_ids) for side in both]).fetchall())


def _differences(rows: Sequence[Row]) -> list[Difference]:
    """The facts of all rows, each once; those that must be equal come first."""
    cases: dict[tuple[str, str, str | None, str | None], list[str]] = {}
    for row in rows:
        for fact in json.loads(row["fingerprint_diff"] or "[]"):
            found = cases.setdefault((fact["class"], fact["key"], fact["baseline"], fact["candidate"]), [])
            found += [row["case_name"]] if row["case_name"] not in found else []
    every = list(dict.fromkeys(row["case_name"] for row in rows if row["fingerprint_diff"] is not None))
    found_differences = [
        Difference(
            key=key,
            must_equal=kind == "must_equal",
            baseline=old,
            candidate=new,
            cases=None if set(found) == set(every) else found,
        )
        for (kind, key, old, new), found in cases.items()
    ]
    return sorted(found_differences, key=lambda found: (not found.must_equal, found.key))
