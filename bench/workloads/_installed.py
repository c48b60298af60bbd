"""Workloads of packages that are installed beside this one: their entry points in the group `bench.workloads`.

Asking for them reads the metadata of every installed package, so that only what no shipped workload is called does.
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bench.errors import InputError
from bench.workloads._own import complete, raised

if TYPE_CHECKING:
    from importlib import metadata

    from bench.workloads import Workload

GROUP = "bench.workloads"


def are_there() -> bool:
    """Whether some package in a folder of sys.path has such an entry point: in a third of the time of `entries`."""
    files = (file for folder in sys.path for file in Path(folder).glob("*-info/entry_points.txt"))
    return any(f"[{GROUP}]" in file.read_text(encoding="utf-8") for file in files)


def entries() -> dict[str, list[metadata.EntryPoint]]:
    """By the workload's name, each package's; imports none of them. Looked for once, for a suite asks many times."""
    return _entries(tuple(sys.path))


@functools.cache
def _entries(_folders: tuple[str, ...]) -> dict[str, list[metadata.EntryPoint]]:
    from importlib import metadata  # 20 ms, which `bench list` does not have

    found: dict[str, list[metadata.EntryPoint]] = {}
    for entry in metadata.entry_points(group=GROUP):
        if entry not in found.setdefault(entry.name, []):
            found[entry.name].append(entry)
    return dict(sorted(found.items()))


def described() -> list[str]:
    """A line for each: its name, its package, and why it cannot be chosen where that is so."""
    from bench import workloads

    found = entries()
    width = max(map(len, found), default=0)
    lines = []
    for name, several in found.items():
        hidden = ": hidden by the one that ships" if name in workloads.names() else ""
        twice = ": one name twice, so neither can be chosen" if not hidden and len(several) > 1 else ""
        lines += [f"{name:{width}}  {package(entry)} ({entry.value}){hidden or twice}" for entry in several]
    return lines


def package(entry: metadata.EntryPoint) -> str:
    """`NAME VERSION` of the package that an entry point belongs to."""
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an unnamed package"


def load(name: str, several: list[metadata.EntryPoint]) -> type[Workload]:
    """The class behind an entry point. Raises InputError that names its package where it is of no use."""
    entry, *others = several
    if others:
        said = " and ".join(f"{package(one)} ({one.value})" for one in several)
        raise InputError(f"workload {name!r} is in {said}: uninstall one of them")
    where = f"workload {name!r} of {package(entry)} ({entry.value})"
    try:
        kind = entry.load()
    except (Exception, SystemExit) as error:  # whatever a package raises is for its author to mend
        raise InputError(f"{where} cannot be imported: {raised(error)}") from error
    try:
        return complete(kind, entry.value)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
