"""The JSON Schema for editors is up to date and agrees with the checks."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bench import strategies, workloads
from bench.cli import group
from bench.suite.json_schema import suite_schema
from bench.suite.yaml_nodes import read

ROOT = Path(__file__).parents[3]
COMMITTED = ROOT / "suites" / "suite.schema.json"


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(COMMITTED.read_text())
    return loaded


def test_bench_schema_prints_the_committed_schema_which_is_the_models_own() -> None:
    printed = CliRunner().invoke(group, ["schema"])
    assert printed.exit_code == 0
    assert printed.output == COMMITTED.read_text()
    assert json.loads(printed.output) == suite_schema(), "to update it, run ci/docs"


@pytest.mark.parametrize("path", sorted((ROOT / "suites").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_shipped_suite_names_the_schema_and_is_valid(path: Path, schema: dict[str, Any]) -> None:
    assert path.read_text().startswith("# yaml-language-server: $schema=suite.schema.json\n")
    assert list(violations(read(path).without_places(), schema, schema)) == []


def test_an_option_of_several_workloads_takes_in_an_override_what_any_of_them_takes(
    schema: dict[str, Any],
) -> None:
    workload = schema["$defs"]["workload"]
    taken = [
        list(violations({"preset": preset}, workload, schema)) for preset in ("original", "imdb", "huge")
    ]
    assert [bool(refused) for refused in taken] == [False, False, True]


def test_the_schema_knows_every_workload_and_strategy_with_its_options(schema: dict[str, Any]) -> None:
    for kind, key in ((workloads, "workload"), (strategies, "strategy")):
        names = [option.get("properties", {}).get("name", {}) for option in schema["$defs"][key]["anyOf"]]
        assert [name["const"] for name in names if "const" in name] == list(kind.names())
    ddp = next(option for option in schema["$defs"]["strategy"]["anyOf"] if option.get("title") == "ddp")
    fields = dataclasses.fields(strategies.load("ddp").Options)
    assert list(ddp["properties"]) == ["name", *(field.name for field in fields)]
    assert ddp["properties"]["bucket_cap_mb"] == {
        "default": 25,
        "description": "Gradients in one all-reduce, in MiB.",
        "exclusiveMinimum": 0,
        "maximum": 1_048_576,
        "type": "integer",
    }


def test_the_schema_takes_a_class_of_a_users_own_file_with_its_options(schema: dict[str, Any]) -> None:
    suite = {
        "title": "x",
        "workload": {"name": "./my_model.py:MyWorkload", "width": 3},
        "cases": [{"name": "a", "strategy": "ddp", "scaling": "none", "world": 1}],
    }
    assert list(violations(suite, schema, schema)) == []


@pytest.mark.parametrize(
    ("change", "violation"),
    [
        ({"titel": "x"}, "titel is unknown"),
        ({"train": {"precison": "bf16"}}, "train.precison is unknown"),
        ({"train": {"precision": "bf61"}}, "train.precision is none of the values"),
        ({"workload": {"name": "unknown_name"}}, "workload fits none"),
        ({"workload": {"name": "spiral_mlp", "width": 3}}, "workload fits none"),
        ({"quick": {"cases": [{"name": "a", "wrld": 1}]}}, "quick.cases.0.wrld is unknown"),
        (
            {"cases": [{"name": "a", "strategy": "dpp", "scaling": "none", "world": 1}]},
            "cases.0.strategy fits none",
        ),
        ({"cases": [{"name": "a", "strategy": "ddp", "scaling": "none"}]}, "cases.0.world is missing"),
        (
            {"cases": [{"name": "a", "strategy": "ddp", "scaling": "none", "world": ["4x"]}]},
            "cases.0.world fits none",
        ),
    ],
)
def test_the_schema_refuses_what_the_checks_refuse(
    change: dict[str, Any], violation: str, schema: dict[str, Any]
) -> None:
    suite = {
        "title": "x",
        "workload": {"hidden": [3]},
        "cases": [{"name": "a", "strategy": "ddp", "scaling": "none", "world": "2x4"}],
    }
    assert list(violations(suite, schema, schema)) == []
    assert list(violations(suite | change, schema, schema)) == [violation]


TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}


def violations(value: Any, schema: dict[str, Any], root: dict[str, Any], path: str = "") -> list[str]:
    """Messages of a validator, for the keywords that this schema uses."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    if "anyOf" in schema:
        return (
            []
            if any(not violations(value, one, root, path) for one in schema["anyOf"])
            else [f"{path} fits none"]
        )
    if "enum" in schema or "const" in schema:
        return [] if value in schema.get("enum", [schema.get("const")]) else [f"{path} is none of the values"]
    kind = schema.get("type")
    if kind and (not isinstance(value, TYPES[kind]) or (isinstance(value, bool) and kind != "boolean")):
        return [f"{path} is no {kind}"]
    if isinstance(value, dict):
        return _in_mapping(value, schema, root, path)
    if isinstance(value, list):
        items = [
            violations(item, schema.get("items", {}), root, f"{path}.{i}") for i, item in enumerate(value)
        ]
        return [violation for item in items for violation in item]
    return _bounds(value, schema, path)


def _in_mapping(value: dict[str, Any], schema: dict[str, Any], root: dict[str, Any], path: str) -> list[str]:
    at = f"{path}." if path else ""
    found = [f"{at}{key} is missing" for key in schema.get("required", []) if key not in value]
    for key, item in value.items():
        inner = schema.get("properties", {}).get(key, schema.get("additionalProperties", {}))
        found += (
            [f"{at}{key} is unknown"]
            if inner is False
            else violations(item, inner if inner is not True else {}, root, f"{at}{key}")
        )
    return found


def _bounds(value: Any, schema: dict[str, Any], path: str) -> list[str]:
    import re

    wrong = (
        ("minimum" in schema and value < schema["minimum"])
        or ("maximum" in schema and value > schema["maximum"])
        or ("exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"])
        or ("pattern" in schema and not re.search(schema["pattern"], value))
    )
    return [f"{path} is out of bounds"] if wrong else []
