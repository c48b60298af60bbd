"""`--set KEY=VALUE`, the last word on a key, and `--vary KEY=VALUE,VALUE`, every case once per value."""

from __future__ import annotations

from dataclasses import dataclass

from bench.common.errors import InputError
from bench.common.nearest import near_or_all
from bench.suite.matrix import combinations, overlap, varied
from bench.suite.merge import put
from bench.suite.models import Case
from bench.suite.shorthand import with_named_strategy
from bench.suite.yaml_nodes import Node, parse

SECTIONS = ("workload", "data", "train", "measure", "device")
"""Keys that a suite sets for all its cases, and a case for itself."""
_TEXTS = ("title", "why")
_ROOTS = (*SECTIONS, *_TEXTS, "cases")


@dataclass(frozen=True)
class Setting:
    """One --set."""

    option: str
    """As it was typed, for messages."""
    path: list[str]
    value: Node


def parse_settings(options: tuple[str, ...]) -> list[Setting]:
    """Each KEY=VALUE with its value read as YAML. Raises InputError."""
    settings = []
    for option in options:
        key, equals, text = option.partition("=")
        path = key.strip().split(".")
        shown = f"--set {option}"
        if not equals or not all(path):
            raise InputError(f"{shown}: it takes KEY=VALUE, as in train.precision=bf16")
        value = parse(text, shown) if text.strip() else Node(None, shown)
        if isinstance(value.value, str) and (path == ["data"] or (path[0], path[2:]) == ("cases", ["data"])):
            path.append("source")
        settings.append(Setting(shown, path, _placed(value, shown)))
    return settings


def _placed(node: Node, where: str) -> Node:
    """The node with the option as the place of all its values."""
    value = node.value
    if isinstance(value, dict):
        value = {key: _placed(item, where) for key, item in value.items()}
    elif isinstance(value, list):
        value = [_placed(item, where) for item in value]
    return Node(value, where, where)


def unknown_keys(settings: list[Setting], suite: Node) -> list[str]:
    """Problems with the keys down to the case's name; the keys below it are checked with the case."""
    cases = [case.value["name"].value for case in suite.value["cases"].value]
    problems = []
    for setting in settings:
        option, (root, *rest) = setting.option, setting.path
        if root not in _ROOTS:
            near = near_or_all(root, _ROOTS)
            if root in Case.model_fields.keys() - {"name"}:
                near = f"; it belongs to a case: --set cases.NAME.{option.removeprefix('--set ')}"
            problems.append(f"{option}: unknown key {root!r}{near}")
        elif root == "cases" and rest[1:] == ["name"]:
            problems.append(f"{option}: cases are found by their name, so it cannot be set")
        elif root == "cases" and (len(rest) < 2 or rest[0] not in cases):
            name = rest[0] if rest else ""
            near = near_or_all(name, cases)
            problems.append(f"{option}: it takes cases.NAME.KEY=VALUE, and {name!r} names no case{near}")
    return problems


def for_case(settings: list[Setting], case: Node) -> Node:
    """The case with every setting that concerns it; a setting for the suite wins over the case's own value."""
    name = case.value["name"].value
    for setting in settings:
        path = setting.path
        if path[:2] == ["cases", name]:
            path = path[2:]
        elif path[0] not in SECTIONS:
            continue
        if varied(case, ".".join(path)):
            raise InputError(
                f"{setting.option}: case {name} varies that key in its matrix; leave one of them out"
            )
        value = setting.value
        if path == ["strategy"]:
            value = with_named_strategy(Node({"strategy": value}, value.where)).value["strategy"]
        case = put(with_named_strategy(case), path, value)
    return case


def parse_vary(options: tuple[str, ...]) -> Node | None:
    """A matrix of every KEY=VALUE,VALUE with its values read as YAML; null without options. Raises InputError."""
    matrix: dict[str, Node] = {}
    for option in options:
        key, _, text = option.partition("=")
        key, shown = key.strip(), f"--vary {option}"
        values = parse(f"[{text}]", shown) if text.strip() else Node([], shown)
        if not all(key.split(".")) or not isinstance(values.value, list) or len(values.value) < 2:
            raise InputError(
                f"{shown}: it takes KEY=VALUE,VALUE with two values or more, as in train.precision=fp32,bf16"
            )
        if key in matrix:
            raise InputError(f"{shown}: {key} is varied twice; give all its values in one --vary")
        root = key.partition(".")[0]
        known = Case.model_fields.keys() - {"name", "baseline", "matrix"}
        if root not in known:
            raise InputError(f"{shown}: unknown key {root!r}{near_or_all(root, sorted(known))}")
        matrix[key] = _placed(values, shown)
    return Node(matrix, f"--vary {options[0]}") if options else None


def variants(case: Node, vary: Node | None, settings: list[Setting]) -> list[Node]:
    """One case per combination of its own matrix and of --vary.

    The baseline of a case has the same values of --vary: a setting is compared, not mixed into the scaling."""
    if vary is None:
        return combinations(case)
    name = case.value["name"].value
    for key, values in vary.value.items():
        if varied(case, key):
            raise InputError(
                f"{values.where}: case {name} varies that key in its matrix; leave one of them out"
            )
        for setting in settings:
            path = setting.path[2:] if setting.path[:2] == ["cases", name] else setting.path
            if overlap(".".join(path), key):
                raise InputError(
                    f"{values.where}: {setting.option} gives that key, too; leave one of them out"
                )
    found = []
    for own in combinations(case):
        own_name = own.value["name"].value
        for variant in combinations(Node({**own.value, "matrix": vary}, own.where)):
            values = variant.value
            baseline = values.get("baseline")
            if baseline is not None and baseline.value is not None:
                suffix = values["name"].value.removeprefix(own_name)
                values = {**values, "baseline": Node(f"{baseline.value}{suffix}", baseline.where)}
            found.append(Node(values, variant.where))
    return found


def for_suite(settings: list[Setting], key: str, suite: Node) -> str:
    """The suite's `title` or `why`, as set or as written."""
    values = [setting.value for setting in settings if setting.path == [key]]
    text = values[-1] if values else suite.get(key)
    return str(text.value) if text else ""
