"""Settings of the cases: those in which they differ, marked, then those that all share."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from analysis.fetched import Row
from analysis.report import units
from analysis.report.markup import Column, differing, table, text, unordered

MOST_COLUMNS = 6
"""Cases that stand beside each other; with more, each value names the cases that have it."""
MOST_CASES = 6
"""Cases that a value names; it counts the others."""

_PARTS = (
    "workload", "workload_options", "strategy", "strategy_options", "scaling", "device_type", "axis", "baseline",
    "data", "data_root", "train", "measure",
)  # fmt: skip
"""Parts of a run's specification that are a case's settings; sizes stand in the summary."""
_WITHOUT_MODEL = {
    "workload", "workload_options", "strategy", "device_type", "axis", "train.precision", "train.seed",
    "measure.warmup", "measure.steps", "measure.repeats", "measure.timeout_s", "threads",
}  # fmt: skip
"""Settings of a run that trains nothing, by their beginning: the others have no effect on it."""

Settings = Mapping[str, Mapping[str, str]]
"""Case -> setting -> value."""


def settings_of(rows: list[Row]) -> Settings:
    """From rows of queries/configuration.sql."""
    return {row["case_name"]: dict(_settings(row)) for row in rows}


def _settings(row: Row) -> Iterator[tuple[str, str]]:
    config = json.loads(row["config"])
    if config.get("strategy") == "process_group":
        yield from ((name, value) for name, value in _written(config) if _has_effect(name))
        return
    yield from _written(config)
    for name in ("parameters", "dataset_size"):
        if row[name] is not None:
            yield name, f"{row[name]:,}"
    if row["data_source"] is not None:
        yield "data that was read", row["data_source"]


def _has_effect(name: str) -> bool:
    """On a run that trains nothing."""
    return name in _WITHOUT_MODEL or name.partition(".")[0] in _WITHOUT_MODEL


def _written(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """As the suite has it."""
    batch = "global_batch" if config.get("scaling") == "strong" else "batch_per_rank"
    for part in (*_PARTS, batch):
        yield from _flat(part, config.get(part))
    if config.get("device_type") == "cpu" and config.get("axis") == "ranks":
        yield from _flat("threads", config.get("threads"))


def _flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _flat(f"{name}.{key}", item)
    elif value is not None:
        yield name, value if isinstance(value, str) else json.dumps(value)


def hyperparameters(settings: Settings) -> str:
    """HTML; nothing where there are no cases."""
    names = list(dict.fromkeys(name for found in settings.values() for name in found))
    shared = [name for name in names if len({found.get(name) for found in settings.values()}) == 1]
    different = [name for name in names if name not in shared]
    return _different(different, settings) + _shared(shared, settings)


def _different(names: list[str], settings: Settings) -> str:
    if not names:
        return "<p>All cases have the same settings.</p>" if len(settings) > 1 else ""
    what = "setting" if len(names) == 1 else "settings"
    reading = f'<p class="reading">{len(names):,} {what} in which the cases differ'
    if len(settings) <= MOST_COLUMNS:
        return f"{reading}; ◆ marks what most cases have otherwise.</p>{_pivot(names, settings)}"
    lines = [line for name in names for line in _values(name, settings)]
    return f"{reading}, with the cases of each value.</p>" + table(
        "Settings that differ: one row per setting and value", _VALUE_COLUMNS, lines
    )


def _pivot(names: list[str], settings: Settings) -> str:
    usual = {name: _usual(name, settings) for name in names}
    columns = [_SETTING, *(_case_column(case, found, usual) for case, found in settings.items())]
    return table(
        "Settings that differ: one row per setting, one column per case",
        columns,
        [{"name": n} for n in names],
    )


def _case_column(case: str, found: Mapping[str, str], usual: Mapping[str, str | None]) -> Column:
    def cell(row: Row) -> str:
        value = found.get(row["name"])
        if value is None:
            return units.UNKNOWN
        return text(value) if value == usual[row["name"]] else differing(text(value))

    return Column(label=case, cell=cell)


def _usual(name: str, settings: Settings) -> str | None:
    """The value of most cases that have the setting; of equally frequent ones the first."""
    values = Counter(found[name] for found in settings.values() if name in found)
    return values.most_common(1)[0][0] if values else None


def _values(name: str, settings: Settings) -> Iterator[Row]:
    usual = _usual(name, settings)
    cases_of: dict[str | None, list[str]] = {}
    for case, found in settings.items():
        cases_of.setdefault(found.get(name), []).append(case)
    for value, cases in sorted(cases_of.items(), key=lambda item: -len(item[1])):
        yield {"name": name, "value": value, "cases": cases, "is_usual": value == usual}


def _value(row: Row) -> str:
    if row["value"] is None:
        return units.UNKNOWN
    return text(row["value"]) if row["is_usual"] else differing(text(row["value"]))


def _cases(row: Row) -> str:
    cases = row["cases"]
    more = f" and {len(cases) - MOST_CASES:,} more" if len(cases) > MOST_CASES else ""
    return f'<div class="names">{len(cases):,}: {", ".join(map(text, cases[:MOST_CASES]))}{more}</div>'


def _shared(names: list[str], settings: Settings) -> str:
    """One row per part of the suite file, its settings one after the other: they are looked up, not compared."""
    if not names:
        return ""
    found = next(iter(settings.values()))
    reading = f'<p class="reading">The same in all {len(settings):,} cases:</p>' if len(settings) > 1 else ""
    parts: dict[str, dict[str, str]] = {}
    for name in names:
        part, dot, key = name.partition(".")
        parts.setdefault(part if dot else "suite", {})[key or part] = found.get(name, units.UNKNOWN)
    rows = [{"part": part.removesuffix("_options"), "values": values} for part, values in parts.items()]
    return reading + table("Settings that all cases share: one row per part", _SHARED_COLUMNS, rows)


def _pairs(row: Row) -> str:
    """`optimizer adam`, setting and value, in a list."""
    items = (f'<span class="key">{text(name)}</span> {text(value)}' for name, value in row["values"].items())
    return f'<div class="pairs">{unordered(items)}</div>'


_SETTING = Column(label="setting", cell=lambda row: text(row["name"]))
_SHARED_COLUMNS = [
    Column(label="part", cell=lambda row: text(row["part"])),
    Column(label="setting and value", cell=_pairs),
]
_VALUE_COLUMNS = [_SETTING, Column(label="value", cell=_value), Column(label="cases", cell=_cases)]


def settings_frame(settings: Settings) -> pl.DataFrame:
    """One row per case and setting."""
    rows = [(case, name, value) for case, found in settings.items() for name, value in found.items()]
    return pl.DataFrame(
        rows, schema={"case_name": pl.String, "setting": pl.String, "value": pl.String}, orient="row"
    )
