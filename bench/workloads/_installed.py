"""Workloads of other installed packages: their entry points in the group `bench.workloads`.

Finding them reads the metadata of every installed package, so it is done only for names that are not shipped.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from bench.common.errors import InputError
from bench.workloads._custom import complete, raised

if TYPE_CHECKING:
    from importlib import metadata

    from bench.workloads import Workload

GROUP = "bench.workloads"


def are_there() -> bool:
    """Whether a package in a folder of sys.path has such an entry point; takes a third of the time of `entries`."""
    files = (file for folder in sys.path for file in Path(folder).glob("*-info/entry_points.txt"))
    return any(f"[{GROUP}]" in file.read_text(encoding="utf-8") for file in files)


def entries() -> dict[str, list[metadata.EntryPoint]]:
    """Entry points by the workload's name; imports none of them. Cached, because a suite asks many times."""
    return _entries(tuple(sys.path))


@functools.cache
def _entries(_folders: tuple[str, ...]) -> dict[str, list[metadata.EntryPoint]]:
    from importlib import metadata  # takes 20 ms, too long for `bench list`

    found: dict[str, list[metadata.EntryPoint]] = {}
    for entry in metadata.entry_points(group=GROUP):
        if entry not in found.setdefault(entry.name, []):
            found[entry.name].append(entry)
    return dict(sorted(found.items()))


def described(shipped: Collection[str]) -> list[str]:
    """A line for each: its name, its package, and, if it cannot be chosen, why. `shipped`: names that hide others."""
    found = entries()
    width = max(map(len, found), default=0)
    lines = []
    for name, several in found.items():
        hidden = ": hidden by the shipped workload of this name" if name in shipped else ""
        twice = (
            ": several workloads have this name, so none can be chosen"
            if not hidden and len(several) > 1
            else ""
        )
        lines += [f"{name:{width}}  {package(entry)} ({entry.value}){hidden or twice}" for entry in several]
    return lines


def package(entry: metadata.EntryPoint) -> str:
    """`NAME VERSION` of the package that an entry point belongs to."""
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an unnamed package"


def load(name: str, several: list[metadata.EntryPoint]) -> type[Workload]:
    """The class of an entry point. Raises InputError, with the package's name, if it cannot be used."""
    entry, *others = several
    if others:
        packages = " and ".join(f"{package(one)} ({one.value})" for one in several)
        raise InputError(f"workload {name!r} is in {packages}: uninstall one of them")
    where = f"workload {name!r} of {package(entry)} ({entry.value})"
    try:
        kind = entry.load()
    except (Exception, SystemExit) as error:  # a package may raise anything
        raise InputError(f"{where} cannot be imported: {raised(error)}") from error
    try:
        return complete(kind, entry.value)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
