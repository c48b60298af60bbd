"""Settings of the cases: those in which the cases differ, then those that all share."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl
from markupsafe import Markup

from analysis.database.rows import Row
from analysis.report.html import units
from analysis.report.html.markup import differing, text, text_cell, unordered
from analysis.report.html.render import render
from analysis.tables.column import Column

MOST_COLUMNS = 6
"""Up to this number, each case has a column; if there are more, each value names its cases."""
MOST_CASES = 6
"""Cases that a value names; it counts the others."""

_PARTS = (
    "workload", "workload_options", "strategy", "strategy_options", "scaling", "device_type", "axis", "baseline",
    "data", "data_root", "train", "measure",
)  # fmt: skip
"""Parts of a run's specification that are settings of a case; its sizes are in the summary."""
_WITHOUT_MODEL = {
    "workload", "workload_options", "strategy", "device_type", "axis", "train.precision", "train.seed",
    "measure.warmup", "measure.steps", "measure.repeats", "measure.timeout_s", "threads",
}  # fmt: skip
"""Settings, or first parts of their names, that affect a run that trains nothing."""

Settings = Mapping[str, Mapping[str, str]]
"""Case -> setting -> value."""


def settings_of(rows: list[Row]) -> Settings:
    """The settings from rows of queries/configuration.sql."""
    return {row["case_name"]: dict(_settings(row)) for row in rows}


def _settings(row: Row) -> Iterator[tuple[str, str]]:
    """The settings as in the suite; for a run that trains nothing, only those that affect it."""
    config = json.loads(row["config"])
    batch = "global_batch" if config.get("scaling") == "strong" else "batch_per_rank"
    parts = [*_PARTS, batch]
    if config.get("device_type") == "cpu" and config.get("axis") == "ranks":
        parts.append("threads")
    settings = [item for part in parts for item in _flat(part, config.get(part))]
    if config.get("strategy") == "process_group":
        yield from (
            (name, value)
            for name, value in settings
            if name in _WITHOUT_MODEL or name.partition(".")[0] in _WITHOUT_MODEL
        )
        return
    yield from settings
    for name in ("parameters", "dataset_size"):
        if row[name] is not None:
            yield name, f"{row[name]:,}"
    if row["data_source"] is not None:
        yield "data that was read", row["data_source"]


def _flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _flat(f"{name}.{key}", item)
    elif value is not None:
        yield name, value if isinstance(value, str) else json.dumps(value)


def hyperparameters(settings: Settings) -> Markup:
    """The section; empty without cases."""
    names = list(dict.fromkeys(name for found in settings.values() for name in found))
    shared = [name for name in names if len({found.get(name) for found in settings.values()}) == 1]
    different = [name for name in names if name not in shared]
    usual = {name: _usual(name, settings) for name in different}
    pivot = [_SETTING, *(_case_column(case, found, usual) for case, found in settings.items())]
    parts: dict[str, dict[str, str]] = {}  # settings in these groups are looked up, not compared
    for name in shared:
        part, dot, key = name.partition(".")
        found = next(iter(settings.values()))
        parts.setdefault(part if dot else "suite", {})[key or part] = found.get(name, units.UNKNOWN)
    return render(
        "sections/settings",
        cases=len(settings),
        different=[{"name": name} for name in different],
        pivot=pivot if len(settings) <= MOST_COLUMNS else [],
        values=[row for name in different for row in _values(name, usual[name], settings)],
        columns=_VALUE_COLUMNS,
        shared=[{"part": part.removesuffix("_options"), "values": values} for part, values in parts.items()],
        shared_columns=_SHARED_COLUMNS,
    )


def _usual(name: str, settings: Settings) -> str | None:
    """The most frequent value among the cases that have the setting; in a tie, the first."""
    values = Counter(found[name] for found in settings.values() if name in found)
    return values.most_common(1)[0][0] if values else None


def _case_column(case: str, found: Mapping[str, str], usual: Mapping[str, str | None]) -> Column:
    return Column(case, lambda row: _value(found.get(row["name"]), usual[row["name"]]))


def _value(value: str | None, usual: str | None) -> str:
    if value is None:
        return units.UNKNOWN
    return text(value) if value == usual else differing(text(value))


def _values(name: str, usual: str | None, settings: Settings) -> Iterator[Row]:
    """One row per value of the setting, the most frequent first."""
    cases_of: dict[str | None, list[str]] = {}
    for case, found in settings.items():
        cases_of.setdefault(found.get(name), []).append(case)
    for value, cases in sorted(cases_of.items(), key=lambda item: -len(item[1])):
        yield {"name": name, "value": value, "usual": usual, "cases": cases}


def _cases(row: Row) -> Markup:
    cases = row["cases"]
    more = f" and {len(cases) - MOST_CASES:,} more" if len(cases) > MOST_CASES else ""
    named = Markup(", ").join(map(text, cases[:MOST_CASES]))
    return Markup('<div class="names">{:,}: {}{}</div>').format(len(cases), named, more)


def _pairs(row: Row) -> Markup:
    """A list of settings with their values: `optimizer adam`."""
    pair = Markup('<span class="key">{}</span> {}')
    items = unordered(pair.format(text(name), text(value)) for name, value in row["values"].items())
    return Markup('<div class="pairs">{}</div>').format(items)


_SETTING = Column("setting", text_cell("name"))
_SHARED_COLUMNS = [Column("part", text_cell("part")), Column("setting and value", _pairs)]
_VALUE_COLUMNS = [
    _SETTING,
    Column("value", lambda row: _value(row["value"], row["usual"])),
    Column("cases", _cases),
]


def settings_frame(settings: Settings) -> pl.DataFrame:
    """One row per case and setting."""
    rows = [(case, name, value) for case, found in settings.items() for name, value in found.items()]
    return pl.DataFrame(
        rows, schema={"case_name": pl.String, "setting": pl.String, "value": pl.String}, orient="row"
    )
