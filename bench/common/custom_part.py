"""Parts of a suite that users write: a class of a file, `./mine.py:Net`, or of an installed package's entry point.

A class is checked and completed: only a few of its parts are required, and everything else has a default. No method is
wrapped: the result is a class with the custom class and the defaults as bases, so a step takes as long as the custom
code itself."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.common import custom_file, entry_points
from bench.common.errors import InputError

if TYPE_CHECKING:
    from importlib import metadata


def label(name: str) -> str:
    """The name of a part in messages: a file without its folder."""
    return name.rpartition("/")[2] if ":" in name else name


@dataclasses.dataclass(frozen=True, kw_only=True)
class NoOptions:
    """No options."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class CustomPart:
    """One kind of class that users may write."""

    word: str
    """The name of the kind in messages: `workload`."""
    group: str
    """The group of its entry points; also the package of those that ship."""
    required: tuple[str, ...]
    """Methods without a default."""
    checked_later: Collection[str] = ()
    """Required methods that another key of the suite may replace; bench/suite/rules.py checks them."""
    instead: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Methods that may take the place of a required one."""
    called_with: Mapping[str, tuple[str, ...]]
    """Every method with its arguments; those after `*` are given by name."""
    on_class: Collection[str] = ()
    """Methods that are called on the class, without an instance."""
    defaults: type
    """A class with everything that is not required."""
    check: Callable[[Any, str], None]
    """Checks the attributes of the completed class, which it is given with its label. Raises InputError."""

    def known(self, shipped: Collection[str]) -> list[str]:
        """The names that ship, then those of installed packages; imports none."""
        return list(dict.fromkeys([*shipped, *entry_points.found(self.group)]))

    def load(self, name: str, shipped: Collection[str]) -> type[Any]:
        """The class of a part: a shipped one's is in the module of its name; for `./mine.py:Net` that of a file; else
        that of an installed package's entry point. Raises InputError."""
        if name in shipped:
            module = importlib.import_module(f"{self.group}.{name}")
            kind: type[Any] = getattr(module, self.word.capitalize())
            return kind
        if ":" in name:
            return self.load_file(name)
        entries = entry_points.found(self.group)
        if name not in entries:
            raise InputError(f"unknown {self.word} {name!r}: there are {', '.join([*shipped, *entries])}")
        return self.load_entry(name, entries[name])

    def load_file(self, name: str) -> type[Any]:
        """The completed class at `FILE.py:CLASS`. Raises InputError if there is none or it cannot be used."""
        file, _, class_name = name.rpartition(":")
        path = Path(file)
        module = custom_file.execute(path)
        if not hasattr(module, class_name):
            raise InputError(f"{path} has no class {class_name}")
        return self.complete(getattr(module, class_name), f"{path.name}:{class_name}")

    def complete(self, kind: Any, label: str) -> type[Any]:
        """The class, with defaults for what it leaves out. Raises InputError if a part is missing or wrong."""
        try:
            if not inspect.isclass(kind):
                methods = f"method{'s' * (len(self.required) > 1)} {', '.join(self.required)}"
                raise InputError(f"{label} is {kind!r}: a {self.word} is a class with the {methods}")
            missing = [
                method
                for method in self.required
                if method not in self.checked_later
                and not hasattr(kind, method)
                and not hasattr(kind, self.instead.get(method, method))
            ]
            if missing:
                methods = ", ".join(f"{method}({', '.join(self.called_with[method])})" for method in missing)
                raise InputError(
                    f"class {label} lacks {methods}: every {self.word} needs {', '.join(self.required)}"
                )
            for method in self.called_with:
                self._check_signature(kind, label, method)
            whole: type[Any] = type(kind.__name__, (kind, self.defaults), {"__module__": kind.__module__})
            if not dataclasses.is_dataclass(whole.Options):
                raise InputError(
                    f"Options of {label} is {whole.Options!r}: "
                    "it must be a dataclass: @dataclass(frozen=True, kw_only=True)"
                )
            self.check(whole, label)
        except InputError:
            raise
        except (Exception, SystemExit) as error:  # a custom metaclass may raise anything
            raise InputError(
                f"class {label} cannot be made a {self.word}: {custom_file.raised(error)}"
            ) from error
        return whole

    def _check_signature(self, kind: Any, label: str, method: str) -> None:
        own = inspect.getattr_static(kind, method, None)
        if own is None or own is getattr(object, method, None):
            return
        function = getattr(kind, method)
        if not callable(function):
            raise InputError(f"{method} of {label} is {own!r}: it must be a method")
        arguments = self.called_with[method]
        if inspect.isfunction(own) and method not in self.on_class:
            arguments = ("self", *arguments)
        by_place = arguments[: arguments.index("*")] if "*" in arguments else arguments
        by_name = arguments[len(by_place) + 1 :]
        try:
            signature = inspect.signature(function)
        except (TypeError, ValueError):  # a builtin does not say
            return
        try:
            signature.bind(*by_place, **dict.fromkeys(by_name))
        except TypeError as error:
            static = ", a staticmethod" if method in self.on_class else ""
            raise InputError(
                f"{method}{signature} of {label}: {error}: write {method}({', '.join(arguments)}){static}"
            ) from None

    def load_entry(self, name: str, several: list[metadata.EntryPoint]) -> type[Any]:
        """The completed class of an entry point. Raises InputError, with the package's name, if it cannot be used."""
        kind, place, where = entry_points.load(self.word, name, several)
        try:
            return self.complete(kind, place)
        except InputError as error:
            raise InputError(f"{where}: {error}") from error
