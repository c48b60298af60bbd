"""A model's complaints in words: where, what, and the nearest right name."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from bench import strategies, workloads
from bench.errors import InputError
from bench.suite.models import OPTIONS
from bench.suite.nearest import did_you_mean, near_or_all
from bench.suite.source import Node

Model = TypeVar("Model", bound=BaseModel)
Path = tuple[str | int, ...]

_MAX_PROBLEMS = 20
"""That are named."""
MOST_PROBLEMS = 200
"""That are looked for: putting 100,000 of them into words takes minutes."""
_LONGEST_SHOWN = 60
_DEMANDS = {
    "string_type": "must be text: put it in quotes",
    "string_pattern_mismatch": "must be 1 to 64 lower-case letters, digits, '_' and '-'",
}
"""By pydantic's name of the problem."""
_OWN_DEMANDS: dict[tuple[str | int, ...], str] = {
    ("float_type", "until"): "must be a percentage as in 1%, or a fraction as in 0.01",
    ("int_type", "memory_limit_bytes"): "must be a size as in 8GiB or 500MB, or a number of bytes",
    ("dataclass_type", "find_batch"): "must be true, false, or a mapping of smallest, largest and steps",
}
"""By pydantic's name of the problem, and the key."""


def check(model: type[Model], node: Node) -> tuple[Model | None, list[str]]:
    """The validated model, or null and what is wrong, one line each."""
    try:
        return model.model_validate_json(json.dumps(node.plain()), strict=True), []
    except ValidationError as error:
        return None, [_problem(model, node, problem) for problem in _causes(error)[:MOST_PROBLEMS]]


def _causes(error: ValidationError) -> list[Any]:
    """What is really wrong: a list whose items are wrong is also said to be too short."""
    problems = error.errors(include_url=False)
    below = {problem["loc"][:length] for problem in problems for length in range(len(problem["loc"]))}
    return [problem for problem in problems if problem["type"] != "too_short" or problem["loc"] not in below]


def refuse(problems: list[str], name: str) -> None:
    """Raise one InputError with all problems, each once; return where there are none."""
    lines = list(dict.fromkeys(problems))
    if len(lines) == 1:
        raise InputError(lines[0])
    if lines:
        or_more = " or more" if len(lines) >= MOST_PROBLEMS else ""
        more = (
            [f"and {len(lines) - _MAX_PROBLEMS} more{or_more and ' at least'}"]
            if len(lines) > _MAX_PROBLEMS
            else []
        )
        shown = [*lines[:_MAX_PROBLEMS], *more]
        raise InputError("\n  ".join([f"{name}: {len(lines)}{or_more} problems", *shown]))


def place(node: Node, path: Path) -> Node:
    """The node at a path, or the last one on the way that was written."""
    for step in path:
        inside = _inside(node, step)
        if inside is None:
            return node
        node = inside
    return node


def _inside(node: Node, step: str | int) -> Node | None:
    value, found = node.value, None
    if isinstance(value, dict):
        found = value.get(step)
    elif isinstance(value, list) and isinstance(step, int) and step < len(value):
        found = value[step]
    assert found is None or isinstance(found, Node)
    return found


def _problem(model: type[BaseModel], node: Node, problem: Any) -> str:
    path: Path = tuple(step for step in problem["loc"] if step != OPTIONS)
    kind = problem["type"]
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        return _unknown_key(model, node, path)
    if kind == "missing":
        return f"{place(node, path[:-1]).where}: {_dotted(path)} is missing{_in_case(node)}"
    if kind == "value_error" and OPTIONS in problem["loc"]:
        return _options_own(place(node, path), str(problem["ctx"]["error"]))
    if kind == "value_error" and path[-1:] in (("workload",), ("strategy",)):
        path = (*path, "name")
    at = place(node, path)
    error = problem.get("ctx", {}).get("error")
    # what a workload's own file is refused for is a sentence of its own
    said = str(error) if isinstance(error, InputError) else f"it {_demand(problem, at.value)}"
    return f"{at.where}: {_dotted(path) or 'the suite'} is {_shown(at.value)}: {said}"


def _options_own(chosen: Node, text: str) -> str:
    """What a workload or strategy says of its options, at the option that it names."""
    at = next((item for key, item in chosen.value.items() if f" {key} " in text), chosen)
    return f"{at.where}: {text}"


def _unknown_key(model: type[BaseModel], node: Node, path: Path) -> str:
    keys, at = known_keys(model, path[:-1], node), place(node, path)
    inside = f" in {_dotted(path[:-1])}" if len(path) > 1 else ""
    near = near_or_all(str(path[-1]), keys)
    return f"{at.key_where or at.where}: unknown key {str(path[-1])[:_LONGEST_SHOWN]!r}{inside}{near}"


def _demand(problem: Any, value: Any) -> str:
    context = problem.get("ctx", {})
    if problem["type"] == "literal_error":
        expected = [word.strip("'") for word in context["expected"].replace(" or ", ", ").split(", ")]
        return f"must be one of {', '.join(expected)}{did_you_mean(str(value), expected)}"
    if problem["type"] == "value_error":
        return str(context["error"])
    if problem["type"] == "too_short":
        least = context["min_length"]
        return f"must list at least {'one' if least == 1 else least}"
    kind = problem["type"]
    own = _OWN_DEMANDS.get((kind, *problem["loc"][-1:])) or _DEMANDS.get(kind)
    if own is not None:
        return own
    message: str = problem["msg"]
    return (
        message.replace("Input should", "must")
        .replace("a valid dictionary", "a mapping")
        .replace("an object", "a mapping")
    )


def known_keys(model: type[BaseModel], path: Path, node: Node) -> list[str]:
    """The keys that the mapping at a path may have."""
    for position, step in enumerate(path):
        if step in ("workload", "strategy"):
            kind: Any = workloads if step == "workload" else strategies
            name = place(node, (*path[: position + 1], "name")).value
            return ["name", *(field.name for field in dataclasses.fields(kind.load(name).Options))]
        annotation = model.model_fields[str(step)].annotation if isinstance(step, str) else model
        inner = _inner(annotation)
        if dataclasses.is_dataclass(inner):
            return [field.name for field in dataclasses.fields(inner)]
        assert issubclass(inner, BaseModel), annotation
        model = inner
    return list(model.model_fields)


def _inner(annotation: Any) -> type:
    """Of a list its items', of what may be null the other."""
    inner = getattr(annotation, "__args__", (annotation,))[0]
    assert isinstance(inner, type), annotation
    return inner


def _dotted(path: Path) -> str:
    return ".".join(str(step) for step in path)


def _in_case(node: Node) -> str:
    name = place(node, ("name",)).value
    return f" in case {name}" if isinstance(name, str) else ""


def _shown(value: Any) -> str:
    plain = Node(value, "").plain()
    text = json.dumps(plain, ensure_ascii=False)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 3]}..."
