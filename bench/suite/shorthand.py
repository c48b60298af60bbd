"""What a case may say in short, written out."""

from __future__ import annotations

from pathlib import Path

from bench.suite.memory_size import memory_size
from bench.suite.merge import get, put
from bench.suite.models import PERCENTAGE
from bench.suite.source import Node


def written_out(case: Node) -> Node:
    """Shorthands written out: `strategy: ddp`, `world: auto`, `threads: 2`, `until: 1%`."""
    for key in ("world", "threads"):
        item = get(case, key)
        if item is not None and item.value is not None and not isinstance(item.value, list):
            case = put(case, [key], Node([item], item.where, item.key_where))
    return _own_workload(_with_fraction(_with_bytes(_with_search(with_named_strategy(case)))))


def with_named_strategy(case: Node) -> Node:
    """`strategy: ddp` as `strategy: {name: ddp}`."""
    strategy = get(case, "strategy")
    if strategy is None or not isinstance(strategy.value, str):
        return case
    named = {"name": Node(strategy.value, strategy.where, strategy.key_where)}
    return Node({**case.value, "strategy": Node(named, strategy.where, strategy.key_where)}, case.where)


def _with_search(case: Node) -> Node:
    """`find_batch: true` as a search with its defaults, `false` as none."""
    find = get(case, "find_batch")
    if find is None or not isinstance(find.value, bool):
        return case
    return Node(
        {**case.value, "find_batch": Node({} if find.value else None, find.where, find.key_where)}, case.where
    )


def _with_bytes(case: Node) -> Node:
    """`measure: {memory_limit_bytes: 8GiB}` in bytes; what is no size is left to the checks."""
    measure = get(case, "measure")
    limit = get(measure, "memory_limit_bytes") if measure is not None else None
    if limit is None or not isinstance(limit.value, str):
        return case
    size = memory_size(limit.value)
    if size is None:
        return case
    return put(case, ["measure", "memory_limit_bytes"], Node(size, limit.where, limit.key_where))


def _with_fraction(case: Node) -> Node:
    """`measure: {until: 1%}` as 0.01; what is no percentage is left to the checks."""
    measure = get(case, "measure")
    until = get(measure, "until") if measure is not None else None
    if until is None or not isinstance(until.value, str) or not PERCENTAGE.fullmatch(until.value):
        return case
    fraction = float(until.value.removesuffix("%")) / 100
    return put(case, ["measure", "until"], Node(fraction, until.where, until.key_where))


def _own_workload(case: Node) -> Node:
    """`./my_model.py:MyWorkload` is looked for beside the file that says so, that of --set in the current folder."""
    workload = get(case, "workload")
    name = get(workload, "name") if workload is not None and isinstance(workload.value, dict) else None
    if name is None or not isinstance(name.value, str) or not name.value.startswith("."):
        return case
    from_option = name.where.startswith("--set ")
    beside = Path() if from_option else Path(name.where.rsplit(":", 2)[0]).parent
    path = str((beside / name.value).resolve())
    named = {**workload.value, "name": Node(path, name.where, name.key_where)} if workload else {}
    return Node({**case.value, "workload": Node(named, name.where, name.key_where)}, case.where)
