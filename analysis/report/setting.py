"""How it was run: hyperparameters, environment, and the command that repeats it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from typing import Any

from analysis.report.markup import Column, Row, table, text

_SHOWN = ("workload", "workload_options", "data", "train", "measure", "strategy", "strategy_options")
"""Parts of a run's specification that are settings; sizes stand in the summary."""


def hyperparameters(rows: list[Row]) -> str:
    """One row per setting and value: said once where all cases agree, else for each value the cases that have it."""
    settings = {row["case_name"]: dict(_settings(row)) for row in rows}
    names = list(dict.fromkeys(name for found in settings.values() for name in found))
    lines = [line for name in names for line in _lines(name, settings)]
    return table("Hyperparameters: one row per setting and value", _SETTING_COLUMNS, lines) if lines else ""


def _settings(row: Row) -> Iterator[tuple[str, str]]:
    config = json.loads(row["config"])
    for part in _SHOWN:
        yield from _flat(part, config.get(part))
    for name, unit in (("parameters", "parameters"), ("dataset_size", "examples")):
        if row[name] is not None:
            yield name, f"{row[name]:,} {unit}"
    yield "data read", str(row["data_source"])


def _flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _flat(f"{name}.{key}", item)
    elif value is not None:
        yield name, value if isinstance(value, str) else json.dumps(value)


def _lines(name: str, settings: dict[str, dict[str, str]]) -> Iterator[Row]:
    cases_of: dict[str, list[str]] = {}
    for case, found in settings.items():
        if name in found:
            cases_of.setdefault(found[name], []).append(case)
    for value, cases in cases_of.items():
        every = len(cases) == len(settings)
        yield {"name": name, "value": value, "cases": "all" if every else ", ".join(cases)}


def environment(rows: list[Row]) -> str:
    """One row per fact and value, with the nodes on which it holds."""
    return table("Environment: one row per fact and value", _FACT_COLUMNS, rows) if rows else ""


def command(arguments: list[str] | None) -> str:
    """As it can be pasted into a shell."""
    return f"<pre><code>{text(shlex.join(arguments))}</code></pre>" if arguments else ""


_SETTING_COLUMNS = [
    Column(label="setting", cell=lambda row: text(row["name"])),
    Column(label="value", cell=lambda row: text(row["value"])),
    Column(label="cases", cell=lambda row: text(row["cases"])),
]
_FACT_COLUMNS = [
    Column(label="fact", cell=lambda row: text(row["key"])),
    Column(label="value", cell=lambda row: text(row["value"])),
    Column(label="nodes", cell=lambda row: text(row["nodes"])),
]
