"""Check nodes by a model; problems name the place, the value and the nearest right name."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from bench import strategies, workloads
from bench.common.errors import InputError
from bench.common.nearest import did_you_mean, near_or_all
from bench.suite.models import OPTIONS
from bench.suite.yaml_nodes import Node

Model = TypeVar("Model", bound=BaseModel)
Path = tuple[str | int, ...]

_SHOWN_PROBLEMS = 20
"""Problems that a message names."""
WORDED_PROBLEMS = 200
"""Problems that are put into words: 100,000 of them would take minutes."""
_LONGEST_SHOWN = 60
_DEMANDS = {
    "string_type": "must be text: put it in quotes",
    "string_pattern_mismatch": "must be 1 to 64 lower-case letters, digits, '_' and '-'",
}
"""By pydantic's error type."""
_OWN_DEMANDS: dict[tuple[str | int, ...], str] = {
    ("float_type", "until"): "must be a percentage as in 1%, or a fraction as in 0.01",
    ("float_type", "until_efficiency"): "must be a percentage as in 1%, or a fraction as in 0.01",
    ("int_type", "memory_limit_bytes"): "must be a size as in 8GiB or 500MB, or a number of bytes",
    ("dataclass_type", "find_batch"): "must be true, false, or a mapping of smallest, largest and steps",
}
"""By pydantic's error type and the key."""

_OTHER_PROGRAMS: dict[str | int, str] = {"batch_size": "a case's batch_per_rank or global_batch"}
"""Keys as other programs name them, which no suite has, and the keys to use."""


def check(model: type[Model], node: Node) -> tuple[Model | None, list[str]]:
    """The validated model, or null and the problems, a line each."""
    try:
        return model.model_validate_json(json.dumps(node.without_places()), strict=True), []
    except ValidationError as error:
        return None, [_problem(model, node, problem) for problem in _causes(error)[:WORDED_PROBLEMS]]


def _causes(error: ValidationError) -> list[Any]:
    """Problems without consequences of others: pydantic also calls a list too short if its items are wrong."""
    problems = error.errors(include_url=False)
    below = {problem["loc"][:length] for problem in problems for length in range(len(problem["loc"]))}
    return [problem for problem in problems if problem["type"] != "too_short" or problem["loc"] not in below]


def refuse(problems: list[str], name: str) -> None:
    """Raise one InputError with all problems, each once; do nothing if there are none."""
    lines = list(dict.fromkeys(problems))
    if len(lines) == 1:
        raise InputError(lines[0])
    if lines:
        or_more = " or more" if len(lines) >= WORDED_PROBLEMS else ""
        more = (
            [f"and {len(lines) - _SHOWN_PROBLEMS} more{or_more and ' at least'}"]
            if len(lines) > _SHOWN_PROBLEMS
            else []
        )
        shown = [*lines[:_SHOWN_PROBLEMS], *more]
        raise InputError("\n  ".join([f"{name}: {len(lines)}{or_more} problems", *shown]))


def _problem(model: type[BaseModel], node: Node, problem: Any) -> str:
    path: Path = tuple(step for step in problem["loc"] if step != OPTIONS)
    kind = problem["type"]
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        return _unknown_key(model, node, path)
    if kind == "missing":
        return f"{node.at(path[:-1]).where}: {_dotted(path)} is missing{_in_case(node)}"
    if kind == "value_error" and OPTIONS in problem["loc"]:
        return _options_own(node.at(path), str(problem["ctx"]["error"]))
    if kind == "value_error" and path[-1:] in (("workload",), ("strategy",)):
        path = (*path, "name")
    at = node.at(path)
    error = problem.get("ctx", {}).get("error")
    # why a custom workload's file is refused is a complete sentence
    said = str(error) if isinstance(error, InputError) else f"it {_demand(problem, at.value)}"
    return f"{at.where}: {_dotted(path) or 'the suite'} is {_shown(at.value)}: {said}"


def _options_own(chosen: Node, text: str) -> str:
    """A problem that a workload or strategy found in its options, at the option that the text names."""
    at = next((item for key, item in chosen.value.items() if f" {key} " in text), chosen)
    return f"{at.where}: {text}"


def _unknown_key(model: type[BaseModel], node: Node, path: Path) -> str:
    keys, at = known_keys(model, path[:-1], node), node.at(path)
    inside = f" in {_dotted(path[:-1])}" if len(path) > 1 else ""
    usual = _OTHER_PROGRAMS.get(path[-1])
    near = f"; use {usual}" if usual else near_or_all(str(path[-1]), keys)
    return f"{at.key_where or at.where}: unknown key {str(path[-1])[:_LONGEST_SHOWN]!r}{inside}{near}"


def _demand(problem: Any, value: Any) -> str:
    context = problem.get("ctx", {})
    if problem["type"] == "literal_error":
        words = context["expected"].replace(" or ", ", ").split(", ")
        expected = [word.lower() if word in ("False", "True") else word.strip("'") for word in words]
        return f"must be one of {', '.join(expected)}{did_you_mean(str(value), expected)}"
    if problem["type"] == "value_error":
        return str(context["error"])
    if problem["type"] == "too_long" and context["field_type"] in ("List", "Tuple"):
        return f"must list at most {context['max_length']}"
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
            name = node.at((*path[: position + 1], "name")).value
            return ["name", *(field.name for field in dataclasses.fields(kind.load(name).Options))]
        annotation = model.model_fields[str(step)].annotation if isinstance(step, str) else model
        inner = _inner(annotation)
        if dataclasses.is_dataclass(inner):
            return [field.name for field in dataclasses.fields(inner)]
        assert issubclass(inner, BaseModel), annotation
        model = inner
    return list(model.model_fields)


def _inner(annotation: Any) -> type:
    """The type of a list's items, or the type of an optional value."""
    inner = getattr(annotation, "__args__", (annotation,))[0]
    assert isinstance(inner, type), annotation
    return inner


def _dotted(path: Path) -> str:
    return ".".join(str(step) for step in path)


def _in_case(node: Node) -> str:
    name = node.at(("name",)).value
    return f" in case {name}" if isinstance(name, str) else ""


def _shown(value: Any) -> str:
    plain = Node(value, "").without_places()
    text = json.dumps(plain, ensure_ascii=False)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 3]}..."
