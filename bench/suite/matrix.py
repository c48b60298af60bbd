"""One case per combination of a case's `matrix`."""

from __future__ import annotations

import itertools
import json
import math
import re

from bench.errors import InputError
from bench.suite.merge import get, put
from bench.suite.source import Node

_MAX_CASES = 1_000
_MAX_NAME = 150
"""A run's folder is named after its case, and file systems end at 255 bytes."""
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def combinations(case: Node) -> list[Node]:
    """The cases that a case stands for: itself, or one per combination, named case~key=value.

    Raises InputError where two get the same name, or where there are too many.
    """
    matrix = get(case, "matrix")
    plain = Node({key: item for key, item in case.value.items() if key != "matrix"}, case.where)
    if matrix is None or not matrix.value:
        return [plain]
    _refuse_no_lists(matrix)
    count = math.prod(len(values.value) for values in matrix.value.values())
    if count > _MAX_CASES:
        raise InputError(f"{matrix.where}: the matrix makes {count} cases: {_MAX_CASES} at most")
    axes = [[(key, value) for value in values.value] for key, values in matrix.value.items()]
    made = [_combined(plain, choice) for choice in itertools.product(*axes)]
    _refuse_twins(made, matrix)
    return made


def varied(case: Node, key: str) -> bool:
    """Whether the case's matrix sets that dotted key, or one above or below it."""
    matrix = get(case, "matrix")
    keys = matrix.value if matrix is not None and isinstance(matrix.value, dict) else ()
    return any(f"{own}.".startswith(f"{key}.") or f"{key}.".startswith(f"{own}.") for own in keys)


def _refuse_no_lists(matrix: Node) -> None:
    """What --set put there; a file's is checked as it is read."""
    values = list(matrix.value.values()) if isinstance(matrix.value, dict) else [matrix]
    for one in values:
        if not isinstance(one.value, list) or not one.value or one is matrix:
            raise InputError(f"{one.where}: a matrix is a mapping: dotted keys, each with a list of values")


def _combined(case: Node, choice: tuple[tuple[str, Node], ...]) -> Node:
    name = str(case.value["name"].value)
    for key, value in choice:
        case = put(case, key.split("."), value)
        name += f"~{key.split('.')[-1]}={_safe(value, key)}"
    if len(name) > _MAX_NAME:
        raise InputError(
            f"{case.where}: the matrix makes a case name of {len(name)} characters: {_MAX_NAME} at most"
        )
    return Node({**case.value, "name": Node(name, case.where)}, case.where)


def _safe(value: Node, key: str) -> str:
    """The value as part of a folder's name."""
    plain = value.plain()
    if isinstance(plain, dict):
        raise InputError(
            f"{value.where}: matrix.{key} lists a mapping: vary one of its keys, as in {key}.name"
        )
    parts = plain if isinstance(plain, list) else [plain]
    text = "-".join(part if isinstance(part, str) else json.dumps(part) for part in parts)
    return _UNSAFE.sub("-", text) or "-"


def _refuse_twins(cases: list[Node], matrix: Node) -> None:
    names: set[str] = set()
    for case in cases:
        name = case.value["name"].value
        if name.lower() in names:
            raise InputError(
                f"{matrix.where}: two combinations are both named {name}: write their values differently"
            )
        names.add(name.lower())
