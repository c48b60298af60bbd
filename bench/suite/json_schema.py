"""The JSON Schema of suite files, for editors: the models' own, with the options of every workload and strategy."""

from __future__ import annotations

import inspect
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from bench import strategies, workloads
from bench.suite.models import OPTIONS, PERCENTAGE, Case, CaseFile, QuickFile, SuiteFile, options_model
from bench.suite.shorthand import MEMORY_SIZE

Schema = dict[str, Any]

_SECTIONS = {"data": "DataSpec", "train": "TrainSpec", "measure": "MeasureSpec"}
_OF_A_CASE = {"find_batch": "FindSpec"}
"""Mappings that only a case has."""
_COUNT: Schema = {"type": "integer", "minimum": 1}
_OWN: Schema = {
    "title": "custom",
    "description": "A class of a custom file, as in ./mine.py:Mine, with its options.",
    "type": "object",
    "properties": {"name": {"type": "string", "pattern": ":"}},
    "required": ["name"],
}
_WORLD: Schema = {"anyOf": [_COUNT, {"type": "string", "pattern": "^([1-9][0-9]*x[1-9][0-9]*|auto)$"}]}


class _Untitled(GenerateJsonSchema):
    """Omits titles that only repeat the key."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's signature
        return False


def suite_schema() -> Schema:
    """JSON Schema (draft 2020-12) of a suite file."""
    case = _schema_of(Case)
    definitions: Schema = {key: case["$defs"][name] for key, name in (_SECTIONS | _OF_A_CASE).items()}
    for key in ("until", "until_efficiency"):
        definitions["measure"]["properties"][key]["anyOf"].insert(
            1, {"type": "string", "pattern": f"^{PERCENTAGE.pattern}$"}
        )
    definitions["measure"]["properties"]["memory_limit_bytes"]["anyOf"].insert(
        1, {"type": "string", "pattern": f"^{MEMORY_SIZE.pattern}$"}
    )
    definitions["data"] = {"anyOf": [{"type": "string", "minLength": 1}, definitions["data"]]}
    definitions["workload"] = _union(workloads)
    definitions["workload"]["anyOf"].append(_OWN)
    definitions["strategy"] = _union(strategies)
    definitions["strategy"]["anyOf"] = [
        {"enum": list(strategies.names())},
        {"type": "string", "pattern": ":"},
        _named_by_key(strategies),
        *definitions["strategy"]["anyOf"],
        _OWN,
    ]
    whole = {
        key: item
        for key, item in _case_properties(case).items()
        if key in Case.model_fields or key == "matrix"
    }
    # a case that runs a command needs neither strategy nor scaling
    definitions["case"] = _mapping(Case, whole, ["name", "world"])
    definitions["partial_case"] = _mapping(CaseFile, whole, ["name"])
    quick = _mapping(QuickFile, _suite_properties(QuickFile, "partial_case"), [])
    top = _suite_properties(SuiteFile, "case") | {"quick": quick}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Suite of scalebench",
        **_mapping(SuiteFile, top, ["title", "cases"]),
        "$defs": definitions,
    }


def _schema_of(model: type[BaseModel]) -> Schema:
    return model.model_json_schema(schema_generator=_Untitled)


def _suite_properties(model: type[BaseModel], case: str) -> Schema:
    properties: Schema = _schema_of(model)["properties"]
    for key in (*_SECTIONS, "workload"):
        properties[key] = _reference(properties[key], key)
    properties["cases"]["items"] = {"$ref": f"#/$defs/{case}"}
    return properties


def _case_properties(case: Schema) -> Schema:
    properties: Schema = case["properties"] | {"matrix": _schema_of(CaseFile)["properties"]["matrix"]}
    for key in (*_SECTIONS, "workload", "strategy"):
        properties[key] = _reference(properties[key], key)
    properties["find_batch"] = properties["find_batch"] | {
        "anyOf": [{"type": "boolean"}, {"$ref": "#/$defs/find_batch"}, {"type": "null"}]
    }
    properties["name"] |= {"pattern": _schema_of(CaseFile)["properties"]["name"]["pattern"]}
    for key, one in (("world", _WORLD), ("threads", _COUNT)):
        both = {"anyOf": [one, {"type": "array", "minItems": 1, "items": one}]}
        properties[key] = {"description": properties[key]["description"], **both}
    return properties


def _union(kind: Any) -> Schema:
    """All workloads or strategies, distinguished by `name`; an override without a name may set any option."""
    options = [_options(kind, name) for name in kind.names()]
    several: dict[str, list[Schema]] = {}
    for option in options:
        for key, item in option["properties"].items():
            if key != "name" and item not in several.setdefault(key, []):
                several[key].append(item)
    unnamed = {key: items[0] if len(items) == 1 else {"anyOf": items} for key, items in several.items()}
    override = {
        "title": "override",
        "description": "Options of the one that is named elsewhere.",
        "type": "object",
    }
    return {"anyOf": [*options, override | {"properties": unnamed, "additionalProperties": False}]}


def _named_by_key(kind: Any) -> Schema:
    """`{mesh: {tp: 2}}`: the name as the only key."""
    named = {option["title"]: option for option in (_options(kind, name) for name in kind.names())}
    properties = {
        name: {key: item for key, item in option.items() if key not in ("title", "required", "properties")}
        | {"properties": {key: item for key, item in option["properties"].items() if key != "name"}}
        for name, option in named.items()
    }
    return {
        "title": "NAME: options",
        "type": "object",
        "properties": properties,
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": False,
    }


def _options(kind: Any, name: str) -> Schema:
    loaded = kind.load(name)
    schema = _schema_of(options_model(loaded.Options))
    properties = schema["$defs"][loaded.Options.__name__].get("properties", {})
    assert OPTIONS in schema["properties"], "the model has that one field"
    return {"title": name, **_mapping(loaded, {"name": {"const": name}} | properties, ["name"])}


def _mapping(documented: type, properties: Schema, required: list[str]) -> Schema:
    schema: Schema = {
        "description": inspect.getdoc(documented) or "",
        "type": "object",
        "properties": properties,
    }
    if required:
        schema["required"] = required
    return schema | {"additionalProperties": False}


def _reference(old: Schema, key: str) -> Schema:
    said = {"description": old["description"]} if "description" in old else {}
    return {**said, "$ref": f"#/$defs/{key}"}
