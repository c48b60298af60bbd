"""Expand a case's `matrix` into one case per combination."""

from __future__ import annotations

import itertools
import json
import math
import re

from bench.common.errors import InputError
from bench.suite.merge import put
from bench.suite.shorthand import with_named_strategy
from bench.suite.yaml_nodes import Node

_MAX_CASES = 1_000
_MAX_NAME = 150
"""Characters. A run's folder is named after its case, and file systems allow 255 bytes."""
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def combinations(case: Node) -> list[Node]:
    """The case itself, or one case per combination of its matrix, named case~key=value.

    Raises InputError if two get the same name, or if there are too many."""
    matrix = case.get("matrix")
    plain = Node({key: item for key, item in case.value.items() if key != "matrix"}, case.where)
    if matrix is None or not matrix.value:
        return [plain]
    # a file's matrix is checked when it is read, but --set may have put anything here
    for values in matrix.value.values() if isinstance(matrix.value, dict) else [matrix]:
        if not isinstance(values.value, list) or not values.value or values is matrix:
            raise InputError(
                f"{values.where}: a matrix is a mapping: dotted keys, each with a list of values"
            )
    count = math.prod(len(values.value) for values in matrix.value.values())
    if count > _MAX_CASES:
        raise InputError(f"{matrix.where}: the matrix makes {count} cases: {_MAX_CASES} at most")
    axes = [[(key, value) for value in values.value] for key, values in matrix.value.items()]
    made: dict[str, Node] = {}
    for choice in itertools.product(*axes):
        combined = _combined(plain, choice)
        name = combined.value["name"].value
        if name.lower() in made:
            raise InputError(
                f"{matrix.where}: two combinations are both named {name}: write their values differently"
            )
        made[name.lower()] = combined
    return list(made.values())


def varied(case: Node, key: str) -> bool:
    """Whether the case's matrix sets that dotted key, or one above or below it."""
    matrix = case.get("matrix")
    keys = matrix.value if matrix is not None and isinstance(matrix.value, dict) else ()
    return any(overlap(own, key) for own in keys)


def overlap(key: str, other: str) -> bool:
    """Whether one of two dotted keys is the other, or is above it."""
    return f"{key}.".startswith(f"{other}.") or f"{other}.".startswith(f"{key}.")


def _combined(case: Node, choice: tuple[tuple[str, Node], ...]) -> Node:
    """The case with one value for each dotted key, and both in its name."""
    name = str(case.value["name"].value)
    for key, value in choice:
        plain = value.without_places()
        if isinstance(plain, dict) and key != "strategy":
            raise InputError(
                f"{value.where}: matrix.{key} lists a mapping: vary one of its keys, as in {key}.name"
            )
        text = "-".join(_words(plain))
        case = put(case, key.split("."), with_named_strategy(Node({key: value}, value.where)).value[key])
        name += f"~{key.split('.')[-1]}={_UNSAFE.sub('-', text) or '-'}"
    if len(name) > _MAX_NAME:
        raise InputError(
            f"{case.where}: the matrix makes a case name of {len(name)} characters: {_MAX_NAME} at most"
        )
    return Node({**case.value, "name": Node(name, case.where)}, case.where)


def _words(value: object) -> list[str]:
    """The keys and values of a plain value, in their order; a `name` without its key."""
    if isinstance(value, dict):
        return [word for key, item in value.items() for word in (*[key] * (key != "name"), *_words(item))]
    if isinstance(value, list | tuple):
        return [word for item in value for word in _words(item)]
    return [value if isinstance(value, str) else json.dumps(value)]
