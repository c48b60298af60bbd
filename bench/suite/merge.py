"""Nodes laid over nodes."""

from __future__ import annotations

from bench.suite.source import Node

_EITHER = (
    ("steps", "epochs"),
    ("epochs", "steps"),
    ("global_batch", "batch_per_rank"),
    ("batch_per_rank", "global_batch"),
)
"""Saying the first in an override takes the second back."""


def merge(base: Node | None, over: Node | None) -> Node | None:
    """`over` wins, key by key; lists and scalars are replaced whole, and so are the options of another `name`."""
    if over is None or base is None:
        return over or base
    if not isinstance(base.value, dict) or not isinstance(over.value, dict) or _renamed(base, over):
        return over
    taken_back = {lost for said, lost in _EITHER if said in over.value and lost not in over.value}
    merged = {key: item for key, item in base.value.items() if key not in taken_back}
    for key, item in over.value.items():
        merged[key] = merge(merged.get(key), item) or item
    return Node(merged, base.where, base.key_where)


def put(node: Node, path: list[str], value: Node) -> Node:
    """The node with `value` merged in at a path of keys; mappings on the way are made where there are none."""
    for key in reversed(path):
        value = Node({key: value}, value.where, value.where)
    merged = merge(node, value)
    assert merged is not None
    return merged


def get(node: Node, key: str) -> Node | None:
    """The value under a key; null where there is none, or no mapping."""
    found = node.value.get(key) if isinstance(node.value, dict) else None
    assert found is None or isinstance(found, Node)
    return found


def _renamed(base: Node, over: Node) -> bool:
    ours, theirs = get(base, "name"), get(over, "name")
    return ours is not None and theirs is not None and ours.value != theirs.value
