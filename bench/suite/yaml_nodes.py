"""YAML text becomes nodes: plain values that know where they were written, so that later errors can name the place.

Scalars follow YAML 1.2: `2e-4` is a number; `1:30`, `off`, `0123` and dates are text. A key may be given only once, and
tags create no objects. Aliases work within limits, and not in a circle.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from bench.common.errors import InputError

MAX_BYTES = 1_000_000
_MAX_ALIASES = 1_000
_MAX_NODES = 100_000


@dataclass(frozen=True)
class Node:
    """A value and its place. A mapping holds nodes by key, a list holds nodes; anything else is a scalar."""

    value: Any
    where: str
    """`FILE:LINE:COLUMN` of the value, or the option that gave it."""
    key_where: str = ""
    """The same for its key; empty in lists."""

    @property
    def size(self) -> int:
        """Number of values in it, itself included."""
        inner = self.value.values() if isinstance(self.value, dict) else self.value
        return 1 + (sum(item.size for item in inner) if isinstance(self.value, dict | list) else 0)

    def get(self, *keys: str) -> Node | None:
        """The node below these keys of nested mappings; null if there is none."""
        node: Any = self
        for key in keys:
            node = node.value.get(key) if node is not None and isinstance(node.value, dict) else None
        assert node is None or isinstance(node, Node)
        return node

    def at(self, path: Iterable[str | int]) -> Node:
        """The node at a path of keys and indices, or the last one on the way that was written."""
        node = self
        for step in path:
            inner: Node | None = None
            if isinstance(node.value, dict):
                inner = node.value.get(step)
            elif isinstance(node.value, list) and isinstance(step, int) and step < len(node.value):
                inner = node.value[step]
            if inner is None:
                break
            node = inner
        return node

    def without_places(self) -> Any:
        """The value without places."""
        if isinstance(self.value, dict):
            return {key: item.without_places() for key, item in self.value.items()}
        if isinstance(self.value, list):
            return [item.without_places() for item in self.value]
        return self.value


class _Loader(yaml.SafeLoader):
    """SafeLoader with the scalars of YAML 1.2; only its composer is used."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - PyYAML's own table


_PATTERNS = {
    "int": re.compile(r"[-+]?(0|[1-9][0-9]{0,2}(_[0-9]{3}){1,5}|[1-9][0-9]{0,17})"),
    "float": re.compile(
        r"[-+]?([0-9]{1,40}\.[0-9]{0,40}|\.[0-9]{1,40}|[0-9]{1,40}(?=[eE]))([eE][-+]?[0-9]{1,4})?"
    ),
    "bool": re.compile("true|True|TRUE|false|False|FALSE"),
    "null": re.compile("~|null|Null|NULL|"),
}
for _kind, _pattern in _PATTERNS.items():
    # the last argument None: try the pattern for every first character
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_kind}", re.compile(f"(?:{_pattern.pattern})$"), None)

_CONVERT: dict[str, Callable[[str], Any]] = {
    "int": lambda text: int(text.replace("_", "")),
    "float": float,
    "bool": lambda text: text.lower() == "true",
    "null": lambda _text: None,
}


def read(path: Path) -> Node:
    """The nodes of a suite file. Raises InputError naming the file, the place and what is wrong there."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"{path} has {path.stat().st_size} bytes: a suite file has {MAX_BYTES} at most")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not UTF-8 text: byte {error.start} is {error.object[error.start]:#04x}"
        ) from error
    return parse(text, str(path))


def parse(text: str, name: str) -> Node:
    """The nodes of YAML text; every place begins with `name`. Raises InputError."""
    try:
        root = yaml.compose(text, _Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        assert mark is not None, "the parser says where"
        raise InputError(f"{_place(name, mark)}: {error.problem or error.context}") from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise InputError(
            f"{name}:{line}: the character U+{ord(text[error.position]):04X} is not allowed in YAML"
        ) from error
    except RecursionError:
        raise InputError(f"{name}: lists or mappings are nested too deeply") from None
    if root is None:
        raise InputError(f"{name} is empty: a suite begins with `title:`, and `bench show smoke` shows one")
    return _Conversion(name).node(root)


def _place(name: str, mark: Any) -> str:
    return f"{name}:{mark.line + 1}:{mark.column + 1}"


class _Conversion:
    """Converts PyYAML's graph to a tree, and counts the values that aliases repeat."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._seen: set[int] = set()
        self._open: set[int] = set()
        self._aliases = 0
        self._nodes = 0

    def node(self, node: yaml.Node, key: yaml.Node | None = None) -> Node:
        where = _place(self._name, node.start_mark)
        self._count(node, where)
        value = self._value(node, where)
        return Node(value, where, _place(self._name, key.start_mark) if key else "")

    def _count(self, node: yaml.Node, where: str) -> None:
        self._nodes += 1
        self._aliases += id(node) in self._seen
        self._seen.add(id(node))
        if id(node) in self._open:
            raise InputError(f"{where}: an alias is inside the value that it repeats")
        if self._aliases > _MAX_ALIASES or self._nodes > _MAX_NODES:
            raise InputError(
                f"{where}: aliases unfold to more than {_MAX_ALIASES} copies or {_MAX_NODES} values: write fewer"
            )

    def _value(self, node: yaml.Node, where: str) -> Any:
        kind = node.tag.removeprefix("tag:yaml.org,2002:")
        if isinstance(node, yaml.ScalarNode):
            if kind == "str":
                return node.value
            if kind not in _CONVERT or not _PATTERNS[kind].fullmatch(node.value):
                raise InputError(f"{where}: the tag {node.tag} is not allowed here: leave it out")
            return _CONVERT[kind](node.value)
        if node.tag != f"tag:yaml.org,2002:{'map' if isinstance(node, yaml.MappingNode) else 'seq'}":
            raise InputError(f"{where}: the tag {node.tag} is not allowed: leave it out")
        self._open.add(id(node))
        value: Any = (
            self._mapping(node)
            if isinstance(node, yaml.MappingNode)
            else [self.node(item) for item in node.value]
        )
        self._open.discard(id(node))
        return value

    def _mapping(self, node: yaml.MappingNode) -> dict[str, Node]:
        mapping: dict[str, Node] = {}
        for key, item in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise InputError(f"{_place(self._name, key.start_mark)}: a key must be text")
            if key.value in mapping:
                first = mapping[key.value].key_where.removeprefix(f"{self._name}:")
                raise InputError(
                    f"{_place(self._name, key.start_mark)}: the key {key.value!r} is given twice, first at {first}"
                )
            mapping[key.value] = self.node(item, key)
        return mapping
