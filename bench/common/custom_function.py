"""Functions that a suite names: of a file, `./mine.py:make`, or of an installed package's entry point."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from bench.common import custom_file, entry_points
from bench.common.custom_part import label
from bench.common.errors import InputError


class Found(NamedTuple):
    """A function of the user."""

    call: Callable[..., Any]
    label: str
    """Its name in messages: `mine.py:make`."""
    file: Path | None
    """The file that the suite names; null for an entry point."""

    def asked_of(self, offered: Mapping[str, Any], by_position: tuple[str, ...]) -> dict[str, Any]:
        """Those of the offered arguments that the function has a parameter for, which can be given by name.

        `by_position`: what its first parameters are given. Raises InputError if one of them has the name of an offered
        argument, whose value it would not get."""
        try:
            parameters = inspect.signature(self.call).parameters.values()
        except (TypeError, ValueError):  # written in C
            return {}
        first = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
        for place, one in zip(by_position, first, strict=False):
            if one.name in offered:
                raise InputError(
                    f"{self.label}() has {one.name} in the place of {place}: its parameters begin with "
                    f"{', '.join(by_position)}, and {one.name} may follow"
                )
        named = {one.name for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)}
        return {name: value for name, value in offered.items() if name in named}


@dataclass(frozen=True, kw_only=True)
class CustomFunction:
    """One kind of function that users may write."""

    word: str
    """The name of the kind in messages: `optimizer`."""
    group: str
    """The group of its entry points."""
    ours: tuple[str, ...]
    """Names of scalebench's own."""

    def is_custom(self, name: str) -> bool:
        """Whether the name is that of a user's function, not one of scalebench's or a class of torch."""
        return ":" in name or (name not in self.ours and (not _CLASS.fullmatch(name) or name in self.names()))

    def names(self) -> list[str]:
        """Names of entry points of installed packages; imports none."""
        return list(entry_points.found(self.group))

    def problem(self, name: str) -> str | None:
        """Why `FILE.py:FUNCTION` cannot be loaded, without importing it; null for other names."""
        file, colon, function = name.rpartition(":")
        if not colon:
            return None
        if not function.isidentifier():
            return f"{function!r} is not the name of a function: write ./FILE.py:FUNCTION"
        return None if Path(file).is_file() else f"there is no file {file}"

    def load(self, name: str) -> Found:
        """The function at `FILE.py:FUNCTION` or of the entry point of that name. Raises InputError."""
        if ":" not in name:
            return self._load_entry(name)
        file, _, function = name.rpartition(":")
        path = Path(file)
        found = getattr(custom_file.execute(path), function, None)
        if not callable(found):
            raise InputError(f"{path} has no function {function}")
        return Found(call=found, label=label(name), file=path)

    def _load_entry(self, name: str) -> Found:
        several = entry_points.found(self.group).get(name)
        if several is None:
            raise InputError(
                f"unknown {self.word} {name!r}: name a function of a file, as in ./mine.py:make, or an entry point of "
                f"the group {self.group} of an installed package"
            )
        found, place, where = entry_points.load(self.word, name, several)
        if not callable(found):
            raise InputError(f"{where} is {found!r}: it must be a function that makes the {self.word}")
        return Found(call=found, label=place, file=None)


_CLASS = re.compile("[A-Z][A-Za-z0-9]*")
OPTIMIZER = CustomFunction(word="optimizer", group="bench.optimizers", ours=("adamw", "adam", "sgd"))
SCHEDULE = CustomFunction(
    word="schedule", group="bench.schedules", ours=("constant", "linear_warmup", "linear", "cosine")
)
LOADER = CustomFunction(word="loader", group="bench.loaders", ours=())
