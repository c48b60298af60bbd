"""Attributes and answers of a user's class, compared with the types that its base class declares.

Ranks compare, too, and their Python may have no pydantic."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Le, Predicate

from bench.common.errors import InputError

_BOUNDS: dict[type, tuple[str, Callable[[Any, Any], bool], str]] = {
    Ge: ("ge", operator.ge, "at least"),
    Gt: ("gt", operator.gt, "above"),
    Le: ("le", operator.le, "at most"),
}
"""Bound -> its attribute, the comparison, and its words."""
_WORDS = {
    NoneType: "None",
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    str: "text",
    type: "a class",
}
_SHOWN = 60
"""Characters of a wrong value that a message shows."""

_hints = functools.cache(functools.partial(get_type_hints, include_extras=True))


def check_attributes(owner: Any, base: type, name: str) -> None:
    """Raise InputError if an attribute that `base` declares has another type or is out of bounds. `owner`: an instance;
    or a class, of which only the ClassVars are known. `name`: the class in messages."""
    for attribute, hint in _hints(base).items():
        of_class = get_origin(hint) is ClassVar
        declared = get_args(hint)[0] if of_class else hint
        if of_class or not isinstance(owner, type):
            value = getattr(owner, attribute)
            is_property = isinstance(owner, type) and hasattr(value, "__get__")
            if not is_property and not _fits(value, declared):
                raise InputError(f"{attribute} of {name} is {_shown(value)}: set it to {_words(declared)}")


def check_answer(answer: Any, method: Callable[..., Any], name: str) -> None:
    """Raise InputError if an answer of the user's method is not of the type that `method` of the base class has."""
    declared = _hints(method)["return"]
    if not _fits(answer, declared):
        raise InputError(
            f"{method.__name__}() of {name} returned {_shown(answer)}: return {_words(declared)}"
        )


def _shown(value: object) -> str:
    """The value on one line."""
    text = " ".join(repr(value).split())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _fits(value: Any, hint: Any) -> bool:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _fits(value, arguments[0]) and all(_holds(value, one) for one in arguments[1:])
    if origin in (Union, UnionType):
        return any(_fits(value, one) for one in arguments)
    if origin in (tuple, Iterable):
        if not isinstance(value, tuple | list):
            return False
        if origin is tuple and Ellipsis not in arguments:
            return len(value) == len(arguments) and all(map(_fits, value, arguments))
        return all(_fits(one, arguments[0]) for one in value)
    if isinstance(value, bool):
        return hint is bool
    return isinstance(value, int | float if hint is float else origin or hint)


def _holds(value: Any, bound: Any) -> bool:
    """Whether the value is within the bound; a text only describes the type."""
    if isinstance(bound, Predicate):
        return bool(bound.func(value))
    if type(bound) in _BOUNDS:
        attribute, compare, _ = _BOUNDS[type(bound)]
        return compare(value, getattr(bound, attribute))
    return True


def _words(hint: Any) -> str:
    """`a whole number of at least 1, or None`."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        if described := [one for one in arguments[1:] if isinstance(one, str)]:
            return described[0]
        bounds = [
            f"{words} {getattr(one, attribute):,}"
            for one in arguments[1:]
            for attribute, _, words in [_BOUNDS[type(one)]]
        ]
        return f"{_words(arguments[0])}, {' and '.join(bounds)}"
    if origin in (Union, UnionType):
        return ", or ".join(map(_words, arguments))
    if origin is tuple and Ellipsis not in arguments:
        return f"({', '.join(map(_words, arguments))})"
    if origin in (tuple, Iterable):
        return f"a list of {_words(arguments[0])}"
    return _WORDS[origin or hint]
