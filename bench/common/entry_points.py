"""Entry points of installed packages, by which they add parts that a suite can name."""

from __future__ import annotations

import functools
import sys
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.common import custom_file
from bench.common.errors import InputError

if TYPE_CHECKING:
    from importlib import metadata


def are_installed(group: str) -> bool:
    """Whether a package in a folder of sys.path has such an entry point; takes a third of the time of `found`."""
    return any(f"[{group}]" in text for text in _texts(tuple(sys.path)))


@functools.cache
def _texts(folders: tuple[str, ...]) -> list[str]:
    files = (file for folder in folders for file in Path(folder).glob("*-info/entry_points.txt"))
    return [file.read_text(encoding="utf-8") for file in files]


def found(group: str) -> dict[str, list[metadata.EntryPoint]]:
    """Entry points by name; imports none of them. Finding them reads the metadata of every package, so ask only for
    names that do not ship."""
    return _found(group, tuple(sys.path))


@functools.cache
def _found(group: str, _folders: tuple[str, ...]) -> dict[str, list[metadata.EntryPoint]]:
    """Cached, because a suite asks many times."""
    from importlib import metadata  # takes 20 ms, too long for `bench list`

    by_name: dict[str, list[metadata.EntryPoint]] = {}
    for entry in metadata.entry_points(group=group):
        if entry not in by_name.setdefault(entry.name, []):
            by_name[entry.name].append(entry)
    return dict(sorted(by_name.items()))


def load(word: str, name: str, several: list[metadata.EntryPoint]) -> tuple[Any, str, str]:
    """The object of an entry point, its place such as `package.module:Net`, and its name in messages. Raises
    InputError if several packages have the name, or if the import fails."""
    entry, *others = several
    if others:
        packages = " and ".join(f"{_package(one)} ({one.value})" for one in several)
        raise InputError(f"{word} {name!r} is in {packages}: uninstall one of them")
    where = f"{word} {name!r} of {_package(entry)} ({entry.value})"
    try:
        with custom_file.current_folder_kept():
            return entry.load(), entry.value, where
    except (Exception, SystemExit) as error:  # a package may raise anything
        raise InputError(f"{where} cannot be imported: {custom_file.raised(error)}") from error


def described(word: str, group: str, shipped: Collection[str]) -> list[str]:
    """A line for each: name, package and, if it cannot be chosen, why. `shipped`: names that hide others."""
    by_name = found(group)
    width = max(map(len, by_name), default=0)
    lines = []
    for name, several in by_name.items():
        problem = ""
        if name in shipped:
            problem = f": hidden by the shipped {word} of this name"
        elif len(several) > 1:
            problem = f": several {plural(word)} have this name, so none can be chosen"
        lines += [f"{name:{width}}  {_package(entry)} ({entry.value}){problem}" for entry in several]
    return lines


def plural(word: str) -> str:
    """`workloads`, `strategies`."""
    return f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"


def _package(entry: metadata.EntryPoint) -> str:
    """`NAME VERSION` of the package that an entry point belongs to."""
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an unnamed package"
