"""Every key of a suite file with type, bounds, default and meaning, from the JSON Schema that `bench schema` prints."""

from __future__ import annotations

import functools
import importlib
import inspect
import json
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields
from types import MappingProxyType
from typing import Any

from bench import strategies, workloads
from bench.suite.json_schema import suite_schema
from ci.documents.markdown import code, table, unit

Schema = dict[str, Any]
SECTIONS = ("case", "find_batch", "data", "train", "measure")
_HEAD = ("key", "type, bounds, unit", "default", "meaning")
_DEFAULTS = {
    "suite": {"workload": "required here or in each case"}
    | dict.fromkeys(("data", "train", "measure"), "the defaults of its keys"),
    "case": {
        "strategy": "required here or in `matrix`; `command` with a command",
        "scaling": "required here or in `matrix`; `counted` with a command",
        "threads": "a slot's share of the CPUs; 1 on CPUs without `--ranks-per-node`",
    }
    | dict.fromkeys(("workload", "data", "train", "measure", "device"), "the suite's"),
}
"""Section: the defaults that the schema does not have."""


@functools.cache
def whole() -> Schema:
    return suite_schema()


def suite() -> str:
    return _keys(whole(), _DEFAULTS["suite"])


def section(name: str) -> str:
    """The table of a section's keys; `name` is one of SECTIONS."""
    schema = whole()["$defs"][name]
    keys = next(one for one in schema.get("anyOf", [schema]) if "properties" in one)
    return _keys(keys, _DEFAULTS.get(name, {}))


def chosen(kind: str) -> str:
    """Every `workload` or `strategy`, with its description and options."""
    return "\n".join(_one(kind, option) for option in named(kind))


def named(kind: str) -> list[Schema]:
    """The schemas of the shipped workloads or strategies."""
    options = whole()["$defs"][kind]["anyOf"]
    return [option for option in options if "const" in option.get("properties", {}).get("name", {})]


def undescribed() -> list[str]:
    """Keys without a meaning."""
    places = [("suite", whole()), ("quick", whole()["properties"]["quick"])]
    places += list(whole()["$defs"].items())
    places += [(option["title"], option) for kind in ("workload", "strategy") for option in named(kind)]
    return [
        f"{place}.{key}"
        for place, schema in places
        for key, item in _properties(schema)
        if not _meaning(item) or not _type(item)
    ]


def _one(kind: str, option: Schema) -> str:
    name = option["title"]
    loaded: Any = {"workload": workloads, "strategy": strategies}[kind].load(name)
    doc = inspect.cleandoc(importlib.import_module(loaded.__module__).__doc__ or "")
    lines = [f"### {name}", "", _sentence(doc, name)]
    if kind == "workload":
        lines.append(option["description"])  # the class's docstring: the examples that it reads or makes
        lines.append(f"`data.source`: {', '.join(code(source) for source in loaded.sources)}.")
    elif loaded.max_world_size is not None:
        lines.append(f"World size: {loaded.max_world_size} at most.")
    required = {one.name: "required" for one in fields(loaded.Options) if _is_required(one)}
    options = _keys(option, required) if len(option["properties"]) > 1 else "It has no options.\n"
    return "\n".join([*lines, "", options])


def _is_required(option: Field[Any]) -> bool:
    return option.default is MISSING and option.default_factory is MISSING


def _sentence(doc: str, name: str) -> str:
    text = " ".join(doc.split()).removeprefix(f"{name}: ")
    return text[0].upper() + text[1:]


def _keys(schema: Schema, defaults: Mapping[str, str] = MappingProxyType({})) -> str:
    """The table of a mapping's keys. `defaults` are those that the schema does not have."""
    required = schema.get("required", [])
    rows = [
        (
            code(key),
            _type(item) + _in(key),
            defaults.get(key) or _default(key, item, required),
            _meaning(item),
        )
        for key, item in _properties(schema)
    ]
    assert rows, "the schema has no keys"
    return table(_HEAD, rows)


def _properties(schema: Schema) -> Iterator[tuple[str, Schema]]:
    """The keys of a workload or strategy, without `name`, which its heading shows."""
    for key, item in schema.get("properties", {}).items():
        if "const" not in item:
            yield key, item


def _meaning(item: Schema) -> str:
    own = item.get("description", "")
    return own if own or "$ref" not in item else str(_target(item).get("description", ""))


def _target(item: Schema) -> Schema:
    target: Schema = whole()["$defs"][item["$ref"].split("/")[-1]]
    return target


def _default(key: str, item: Schema, required: list[str]) -> str:
    if key in required:
        return "required"
    return code(json.dumps(item["default"], ensure_ascii=False)) if "default" in item else "none"


def _type(item: Schema) -> str:
    if "$ref" in item:
        name = item["$ref"].split("/")[-1]
        links = {"partial_case": "parts of [a case](#cases)", "case": "[a case](#cases)"}
        return links.get(name, f"[{name}](#{name})")
    if "anyOf" in item:
        return _either(item["anyOf"])
    if "enum" in item:
        return " or ".join(
            code(value if isinstance(value, str) else json.dumps(value)) for value in item["enum"]
        )
    if item.get("type") == "array":
        return f"list of {_type(item['items']) or 'values'}{_count(item)}"
    if item.get("type") == "object":
        values = item.get("additionalProperties")
        return f"mapping of keys to {_type(values)}" if isinstance(values, dict) else "mapping"
    return f"{_TYPES.get(item.get('type', ''), '')}{_bounds(item)}"


def _either(parts: list[Schema]) -> str:
    *others, last = parts
    if last.get("type") == "array" and [last["items"]] == others:
        return f"{_type(others[0])}; or a list of these"
    return " or ".join(_type(part) for part in parts)


_TYPES = {
    "integer": "whole number", "number": "number", "string": "text", "boolean": "`true` or `false`", "null": "`null`",
}  # fmt: skip


def _bounds(item: Schema) -> str:
    low, high = item.get("minimum"), item.get("maximum")
    if low is not None and high is not None:
        return f", {low:,} to {high:,}" if low < high else f", {low:,} alone"
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    parts = [f"{sign} {item[key]:,}" for key, sign in signs.items() if key in item]
    if "pattern" in item:
        parts.append(f"that matches {code(item['pattern'])}")
    if item.get("minLength"):
        parts.append("that is not empty")
    return f" {' and '.join(parts)}" if parts else ""


def _in(key: str) -> str:
    return f", in {unit(key)}" if unit(key) else ""


def _count(item: Schema) -> str:
    if item.get("maxItems"):
        return f", {item.get('minItems', 0)} to {item['maxItems']:,} of them"
    return ", not empty" if item.get("minItems") else ""
