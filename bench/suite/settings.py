"""--set KEY=VALUE: the last word on a key."""

from __future__ import annotations

from dataclasses import dataclass

from bench.errors import InputError
from bench.suite.matrix import varied
from bench.suite.merge import put
from bench.suite.models import Case
from bench.suite.nearest import near_or_all
from bench.suite.shorthand import with_named_strategy
from bench.suite.source import Node, parse

SECTIONS = ("workload", "data", "train", "measure", "device")
"""What a suite says for all its cases, and a case for itself."""
_TEXTS = ("title", "why")


@dataclass(frozen=True)
class Setting:
    """One --set, taken apart."""

    option: str
    """As it was typed, for messages."""
    path: list[str]
    value: Node


def settings_of(options: tuple[str, ...]) -> list[Setting]:
    """Each KEY=VALUE with its value read as YAML. Raises InputError."""
    return [_setting(option) for option in options]


def for_case(settings: list[Setting], case: Node) -> Node:
    """The case with every setting that concerns it; a suite-wide one wins over the case's own override."""
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
        case = put(with_named_strategy(case), path, setting.value)
    return case


def for_suite(settings: list[Setting], text: str, written: Node | None) -> Node | None:
    """Title or why, as set or as written."""
    values = [setting.value for setting in settings if setting.path == [text]]
    return values[-1] if values else written


def unknown_keys(settings: list[Setting], suite: Node) -> list[str]:
    """What is wrong with the keys down to the case's name; what lies below is checked with the case."""
    cases = [case.value["name"].value for case in suite.value["cases"].value]
    problems = []
    for setting in settings:
        root = setting.path[0]
        roots = (*SECTIONS, *_TEXTS, "cases")
        if root not in roots:
            near = _of_a_case(setting) or near_or_all(root, roots)
            problems.append(f"{setting.option}: unknown key {root!r}{near}")
        elif root == "cases" and setting.path[2:] == ["name"]:
            problems.append(f"{setting.option}: a case's name is what it is found by and cannot be set")
        elif root == "cases" and (len(setting.path) < 3 or setting.path[1] not in cases):
            name = setting.path[1] if len(setting.path) > 1 else ""
            near = near_or_all(name, cases)
            problems.append(
                f"{setting.option}: it takes cases.NAME.KEY=VALUE, and {name!r} names no case{near}"
            )
    return problems


def _of_a_case(setting: Setting) -> str:
    if setting.path[0] not in Case.model_fields.keys() - {"name"}:
        return ""
    return f"; it belongs to a case: --set cases.NAME.{setting.option.removeprefix('--set ')}"


def _setting(option: str) -> Setting:
    key, equals, text = option.partition("=")
    path = key.strip().split(".")
    shown = f"--set {option}"
    if not equals or not all(path):
        raise InputError(f"{shown}: it takes KEY=VALUE, as in train.precision=bf16")
    value = parse(text, shown) if text.strip() else Node(None, shown)
    return Setting(shown, path, _placed(value, shown))


def _placed(node: Node, where: str) -> Node:
    value = node.value
    if isinstance(value, dict):
        value = {key: _placed(item, where) for key, item in value.items()}
    elif isinstance(value, list):
        value = [_placed(item, where) for item in value]
    return Node(value, where, where)
