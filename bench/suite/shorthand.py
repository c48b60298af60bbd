"""Expand the shorthands of a case."""

from __future__ import annotations

import re
from pathlib import Path

from bench.records.vocabulary import COMMAND
from bench.suite.merge import put
from bench.suite.models import PERCENTAGE
from bench.suite.yaml_nodes import Node

MEMORY_SIZE = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?) ?([kKMGT])(i?)B")
_EXPONENTS = {"k": 1, "K": 1, "M": 2, "G": 3, "T": 4}


def with_data_source(part: Node) -> Node:
    """A suite, or a part of one, with `data: synthetic` as `data: {source: synthetic}`, in it and in its cases."""
    if not isinstance(part.value, dict):
        return part
    items = dict(part.value)
    data = items.get("data")
    if data is not None and isinstance(data.value, str):
        named = {"source": Node(data.value, data.where, data.key_where)}
        items["data"] = Node(named, data.where, data.key_where)
    if "quick" in items:
        items["quick"] = with_data_source(items["quick"])
    cases = items.get("cases")
    if cases is not None and isinstance(cases.value, list):
        items["cases"] = Node(list(map(with_data_source, cases.value)), cases.where, cases.key_where)
    return Node(items, part.where, part.key_where)


def written_out(case: Node) -> Node:
    """The case without shorthands: `strategy: ddp` or `{mesh: {tp: 2}}`, `data: synthetic`, `world: auto`,
    `threads: 2`, `find_batch: true`, `until: 1%`, `until_efficiency: 1%`, `memory_limit_bytes: 8GiB`. Values that are
    neither are left to the checks.

    `./my_file.py:NAME` becomes a path from the suite file's folder; given by --set, from the current folder."""
    for key in ("world", "threads"):
        item = case.get(key)
        if item is not None and item.value is not None and not isinstance(item.value, list):
            case = put(case, [key], Node([item], item.where, item.key_where))
    case = with_data_source(with_named_strategy(_with_command(case)))
    find = case.get("find_batch")
    if find is not None and isinstance(find.value, bool):
        case = put(case, ["find_batch"], Node({} if find.value else None, find.where, find.key_where))
    for key in ("until", "until_efficiency"):
        until = case.get("measure", key)
        if until is not None and isinstance(until.value, str) and PERCENTAGE.fullmatch(until.value):
            fraction = float(until.value.removesuffix("%")) / 100
            case = put(case, ["measure", key], Node(fraction, until.where, until.key_where))
    limit = case.get("measure", "memory_limit_bytes")
    if limit is not None and isinstance(limit.value, str) and (size := memory_size(limit.value)) is not None:
        case = put(case, ["measure", "memory_limit_bytes"], Node(size, limit.where, limit.key_where))
    for section in ("workload", "strategy"):
        name = case.get(section, "name")
        if name is not None and isinstance(name.value, str) and re.match(r"\.[^\0]*$", name.value):
            case = _replaced(case, section, "name", str((_folder_of(name.where) / name.value).resolve()))
    return case


def _replaced(case: Node, section: str, key: str, value: object) -> Node:
    """The case with another value of a key, and no other change of its section."""
    whole, old = case.value[section], case.get(section, key)
    assert old is not None
    new = Node({**whole.value, key: Node(value, old.where, old.key_where)}, whole.where, whole.key_where)
    return Node({**case.value, section: new}, case.where)


def _with_command(case: Node) -> Node:
    """`workload: {command: [...]}` with the name of that workload, its strategy, its scaling and a whole `cwd`."""
    command, workload = case.get("workload", "command"), case.get("workload")
    name = case.get("workload", "name")
    if command is None or workload is None or (name is not None and name.value != COMMAND):
        return case

    def here(value: object) -> Node:
        return Node(value, command.where, command.key_where)

    if isinstance(command.value, list):  # numbers of YAML are words of a command line
        words = [Node(repr(one.value), one.where) if _is_number(one.value) else one for one in command.value]
        case = _replaced(case, "workload", "command", words)
    cwd = case.get("workload", "cwd")
    where = command.where if cwd is None or cwd.value is None else cwd.where
    given = "." if cwd is None or cwd.value is None else cwd.value
    if isinstance(given, str) and "\0" not in given:
        whole = Node(str((_folder_of(where) / given).resolve()), where, where)
        workload = case.value["workload"]
        inside = {**workload.value, "name": here(COMMAND), "cwd": whole}
        case = Node({**case.value, "workload": Node(inside, workload.where, workload.key_where)}, case.where)
    for key, value in (("strategy", "command"), ("scaling", "counted")):
        if case.get(key) is None:
            case = put(case, [key], here(value))
    return case


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _folder_of(where: str) -> Path:
    """The folder to which paths there are relative: the suite file's, or for an option the current one."""
    return Path() if where.startswith("--") else Path(where.rsplit(":", 2)[0]).parent


def with_named_strategy(case: Node) -> Node:
    """`strategy: ddp` as `strategy: {name: ddp}`; `strategy: {mesh: {tp: 2}}` as `strategy: {name: mesh, tp: 2}`."""
    strategy = case.get("strategy")
    if strategy is None:
        return case
    if isinstance(strategy.value, dict) and len(strategy.value) == 1:
        ((name, options),) = strategy.value.items()
        if isinstance(options.value, dict):
            whole = {"name": Node(name, options.key_where, options.key_where), **options.value}
            written = Node(whole, strategy.where, strategy.key_where)
            return Node({**case.value, "strategy": written}, case.where, case.key_where)
    if not isinstance(strategy.value, str):
        return case
    named = {"name": Node(strategy.value, strategy.where, strategy.key_where)}
    return put(case, ["strategy"], Node(named, strategy.where, strategy.key_where))


def memory_size(text: str) -> int | None:
    """Bytes of `8GiB` or `1.5 GB`; null if the text is not a size. `KiB` to `TiB` are powers of 1,024, `kB` to `TB` of
    1,000."""
    match = MEMORY_SIZE.fullmatch(text)
    if match is None:
        return None
    base = 1024 if match[3] else 1000
    unit: int = base ** _EXPONENTS[match[2]]
    return round(float(match[1]) * unit)
