"""A suite's quick section laid over it."""

from __future__ import annotations

from bench.errors import InputError
from bench.suite.merge import get, merge
from bench.suite.nearest import near_or_all
from bench.suite.source import Node


def as_written(root: Node, quick: bool) -> Node:
    """The suite as a file would say it whole, the quick section merged in or left out."""
    plain = Node({key: item for key, item in root.value.items() if key != "quick"}, root.where)
    section = get(root, "quick")
    names = [case.value["name"].value for case in plain.value["cases"].value]
    _refuse_twins(plain.value["cases"].value)
    partial = get(section, "cases") if section else None
    for part in partial.value if partial else []:
        name = part.value["name"].value
        if name not in names:
            near = near_or_all(name, names)
            raise InputError(
                f"{part.value['name'].where}: quick names the case {name!r}, which is none{near}"
            )
    if not quick or section is None:
        return plain
    over = Node({key: item for key, item in section.value.items() if key != "cases"}, section.where)
    merged = merge(plain, over)
    assert merged is not None
    parts = {part.value["name"].value: part for part in (partial.value if partial else [])}
    cases = [merge(case, parts.get(case.value["name"].value)) for case in plain.value["cases"].value]
    return Node({**merged.value, "cases": Node(cases, plain.value["cases"].where)}, root.where)


def _refuse_twins(cases: list[Node]) -> None:
    seen: dict[str, str] = {}
    for case in cases:
        name = case.value["name"]
        if name.value in seen:
            raise InputError(
                f"{name.where}: the case {name.value!r} is given twice, first at {seen[name.value]}"
            )
        seen[name.value] = name.where
