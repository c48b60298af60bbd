"""Merge nodes over nodes, such as a suite's quick section over the suite."""

from __future__ import annotations

from bench.common.errors import InputError
from bench.common.nearest import near_or_all
from bench.suite.yaml_nodes import Node

_EITHER = (
    ("steps", "epochs"),
    ("epochs", "steps"),
    ("global_batch", "batch_per_rank"),
    ("batch_per_rank", "global_batch"),
)
"""An override that gives the first key removes the second."""


def merge(base: Node | None, over: Node | None) -> Node | None:
    """`over` wins, key by key. Lists and scalars are replaced whole, and so is a mapping that has another `name`."""
    if over is None or base is None:
        return over or base
    if not isinstance(base.value, dict) or not isinstance(over.value, dict):
        return over
    ours, theirs = base.get("name"), over.get("name")
    if ours is not None and theirs is not None and ours.value != theirs.value:
        return over
    removed = {other for given, other in _EITHER if given in over.value and other not in over.value}
    merged = {key: item for key, item in base.value.items() if key not in removed}
    for key, item in over.value.items():
        merged[key] = merge(merged.get(key), item) or item
    return Node(merged, base.where, base.key_where)


def put(node: Node, path: list[str], value: Node) -> Node:
    """The node with `value` merged in at a path of keys; missing mappings on the way are created."""
    for key in reversed(path):
        value = Node({key: value}, value.where, value.where)
    merged = merge(node, value)
    assert merged is not None
    return merged


def suite_as_written(root: Node, quick: bool) -> Node:
    """The suite without its quick section, or with it merged in. Raises InputError if two cases have the same name, or
    if quick names a case that does not exist."""
    plain = Node({key: item for key, item in root.value.items() if key != "quick"}, root.where)
    cases: dict[str, Node] = {}
    for case in plain.value["cases"].value:
        name = case.value["name"]
        if name.value in cases:
            first = cases[name.value].value["name"].where
            raise InputError(f"{name.where}: the case {name.value!r} is given twice, first at {first}")
        cases[name.value] = case
    over = root.get("quick")
    if over is None:
        return plain
    parts = over.value["cases"].value if "cases" in over.value else []
    for part in parts:
        name = part.value["name"]
        if name.value not in cases:
            near = near_or_all(name.value, cases)
            raise InputError(f"{name.where}: quick names the case {name.value!r}, which does not exist{near}")
    if not quick:
        return plain
    merged = merge(plain, Node({key: item for key, item in over.value.items() if key != "cases"}, over.where))
    assert merged is not None
    by_name = {part.value["name"].value: part for part in parts}
    whole = [merge(case, by_name.get(name)) for name, case in cases.items()]
    return Node({**merged.value, "cases": Node(whole, plain.value["cases"].where)}, root.where)
