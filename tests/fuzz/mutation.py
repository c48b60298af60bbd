"""Sound trees of mappings, lists and scalars, with a few unexpected values in them."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

Tree = Any
Path = tuple[Any, ...]

ODD_TEXTS = (
    "", " ", "0", "-1", "auto", "nan", "~", "[", "{", "&a", "*a", "!!python/name:os.system", "<<", "%s", "{0}",
    "$HOME",
    "../../etc/passwd", "/dev/zero", "/dev/stdin", "./none.py:Nothing", "x" * 300, "x" * 20_000, "9" * 5_000, "2x4",
    "1000000000x1000000000", "1e9", "1e999", "50%", "8GiB", "\0", "\n", "\t", "\x1b[31m", "\u202e", "\ud800",
    "\U0001f600",
    "ſ", "__class__", "name", "a.b.c", "~x=1", ";rm -rf /", "<script>alert(1)</script>", "' OR 1=1 --",
)  # fmt: skip
ODD_NUMBERS = (
    0, -1, 1, 2, 3, 7, 64, 1_000, 10**6, 10**9, 2**31, 2**53 + 1, 2**63, 10**30, -(10**30), 0.0, -0.0, 0.5,
    1e-300, 1e300,
    float("inf"), float("-inf"), float("nan"),
)  # fmt: skip
SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(ODD_TEXTS),
    st.sampled_from(ODD_NUMBERS),
    st.sampled_from([None, True, False]),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
)
ODD = st.one_of(
    SCALARS,
    st.lists(SCALARS, max_size=4),
    st.dictionaries(st.sampled_from(ODD_TEXTS), SCALARS, max_size=3),
    st.sampled_from([[], {}, [[]], [{}], [None] * 70, {"name": {"name": {}}}]),
)


@st.composite
def mutated(draw: st.DrawFn, whole: Tree, *, most: int = 4, odd: st.SearchStrategy[Any] = ODD) -> Tree:
    """A copy of `whole` with up to `most` nodes replaced, left out, renamed, doubled, swapped or wrapped."""
    tree = copy.deepcopy(whole)
    for _ in range(draw(st.integers(1, most))):
        tree = draw(_changed(tree, odd))
    return tree


@st.composite
def _changed(draw: st.DrawFn, tree: Tree, odd: st.SearchStrategy[Any]) -> Tree:
    paths = list(_paths(tree))
    if not paths:
        return copy.deepcopy(draw(odd))
    path = draw(st.sampled_from(paths))
    parent, step = _at(tree, path[:-1]), path[-1]
    match draw(
        st.sampled_from(["replace", "replace", "replace", "delete", "rename", "double", "swap", "wrap"])
    ):
        case "replace":
            parent[step] = copy.deepcopy(draw(odd))
        case "delete":
            del parent[step]
        case "rename" if isinstance(parent, dict):
            parent[draw(st.sampled_from([*ODD_TEXTS, *(str(one[-1]) for one in paths)]))] = parent.pop(step)
        case "double" if isinstance(parent, list):
            parent.extend([parent[step]] * draw(st.sampled_from([1, 2, 100])))
        case "swap":
            parent[step] = copy.deepcopy(_at(tree, draw(st.sampled_from(paths))))
        case _:
            parent[step] = draw(st.sampled_from([[parent[step]], {"name": parent[step]}, [parent[step]] * 2]))
    return tree


def _paths(tree: Tree, path: Path = ()) -> Iterator[Path]:
    steps = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for step, item in steps:
        yield (*path, step)
        yield from _paths(item, (*path, step))


def _at(tree: Tree, path: Path) -> Any:
    for step in path:
        tree = tree[step]
    return tree


@st.composite
def mangled(draw: st.DrawFn, text: str, snippets: tuple[str, ...]) -> str:
    """The text with up to four lines left out, doubled, cut, moved or followed by one of the snippets."""
    lines = text.split("\n")
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(lines) - 1))
        line = lines[place]
        match draw(st.sampled_from(["insert", "insert", "delete", "double", "cut", "move", "append"])):
            case "insert":
                lines.insert(place, draw(st.sampled_from(snippets)))
            case "delete" if len(lines) > 1:
                del lines[place]
            case "double":
                lines.insert(place, line)
            case "cut":
                lines[place] = line[: draw(st.integers(0, len(line)))]
            case "move":
                lines[place] = " " * draw(st.integers(0, 5)) + line.lstrip()
            case _:
                lines[place] = line + draw(st.sampled_from(snippets))
    return "\n".join(lines)
