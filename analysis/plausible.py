"""Whether the values of a Parquet file can be measured ones, by the smallest and largest that its footer names.

A footer is read anyway: nothing is read for it. Where a file names none, DuckDB finds what does not fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import pyarrow.parquet as pq

from analysis.fields import BadFileError
from bench.records.vocabulary import SELFCHECK_KINDS, STEP_KINDS

_LARGEST = {"INTEGER": 2**31 - 1, "BIGINT": 10**17}
"""10^17 ns are three years, 10^17 bytes 100 PB: what is derived adds up some of them, and must not overflow."""
_MASKS = ("throttle_reasons",)
_KEYS = {
    "steps": ("rank", "node", "step", "kind", "start_ns", "step_ns"),
    "samples": ("node", "time_ns"),
    "collectives": ("op", "iteration"),
    "matmuls": ("rank", "precision", "iteration"),
    "profile": ("rank", "step"),
    "profile_collectives": ("rank", "step", "op"),
    "selfcheck": ("rank", "step", "pair", "kind", "step_ns"),
}
"""Columns that no row goes without. Exchanges that were measured elsewhere have no rank."""
KINDS: dict[str, tuple[str, ...]] = {"steps": STEP_KINDS, "selfcheck": SELFCHECK_KINDS}
_BEFORE_ZERO = {("steps", "start_ns"), ("samples", "time_ns"), ("samples", "device")}
"""Counted from the ranks' common barrier, and so below zero before it; and a device that is none."""
_PHASES = ("data_ns", "forward_ns", "backward_ns", "optimizer_ns")
"""Differences of stamps that a device took: nobody's file is left out for one that is a little off."""


@dataclass(frozen=True, kw_only=True)
class _Wanted:
    smallest: int | None
    largest: int | None
    is_key: bool
    kinds: tuple[str, ...]


def check(footer: pq.FileMetaData, table: str, columns: Mapping[str, str]) -> None:
    """Raises BadFileError for the first column with a value that cannot be. `columns` -> SQL type of those to load."""
    if table == "steps" and footer.num_rows == 0:
        raise BadFileError("has no rows: remove it, or run it again")
    places = {footer.schema.column(place).path: place for place in range(footer.num_columns)}
    wanted = [(places[name], name, _wanted(table, name, columns[name])) for name in columns if name in places]
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        for place, name, one in wanted:
            if one is not None and (found := group.column(place).statistics) is not None:
                _check_statistics(found, name, one)


@cache
def _wanted(table: str, name: str, sql_type: str) -> _Wanted | None:
    """Null where any value will do."""
    is_number = sql_type in _LARGEST and name not in _MASKS
    may_be_less = (table, name) in _BEFORE_ZERO or name in _PHASES
    largest = _LARGEST[sql_type] if is_number else None
    smallest = None if largest is None else -largest if may_be_less else 0
    is_key = name in _KEYS.get(table, ())
    kinds = KINDS.get(table, ()) if name == "kind" else ()
    if largest is None and not is_key and not kinds:
        return None
    return _Wanted(smallest=smallest, largest=largest, is_key=is_key, kinds=kinds)


def _check_statistics(found: pq.Statistics, name: str, wanted: _Wanted) -> None:
    if wanted.is_key and found.has_null_count and found.null_count:
        raise BadFileError(f"column {name} is null in some rows: not a file of measured rows: remove it")
    if not found.has_min_max:
        return
    low, high = found.min, found.max
    if wanted.kinds:
        _refuse_other_kinds(name, (low, high), wanted.kinds)
    if wanted.smallest is not None and low < wanted.smallest:
        raise BadFileError(
            f"column {name} holds {low:,}, below {wanted.smallest:,}: no measured value: remove it"
        )
    if wanted.largest is not None and high > wanted.largest:
        raise BadFileError(
            f"column {name} holds {high:,}, above {wanted.largest:,}: no measured value: remove it"
        )


def _refuse_other_kinds(name: str, found: tuple[Any, ...], kinds: tuple[str, ...]) -> None:
    for kind in found:
        if kind not in kinds:
            raise BadFileError(
                f"column {name} holds {str(kind)[:60]!r}, none of {', '.join(kinds)}: remove it"
            )
