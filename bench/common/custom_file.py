"""Execute a Python file that a suite names, so that it can import the modules next to it.

Its folder comes last on `sys.path`: after the standard library and installed packages (safe_path). If the file imports
a name that Python finds there first, although a module next to the file has it too, the file is refused: it would
silently run with the wrong module."""

from __future__ import annotations

import ast
import functools
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import parent_process
from pathlib import Path
from types import ModuleType

import bench
from bench.common.errors import InputError

_NOT_THE_USERS = (
    *(f"{sysconfig.get_path(name)}/" for name in ("stdlib", "platstdlib")),
    f"{Path(bench.__file__).parent}/",
    "<",
)
"""Beginnings of the paths of Python's and scalebench's code; `<` is code without a file."""


def is_foreign(file: str) -> bool:
    """Whether the file's code is Python's, installed or scalebench's, and not the user's."""
    return file.startswith(_NOT_THE_USERS) or "/site-packages/" in file or "/dist-packages/" in file


def execute(path: Path) -> ModuleType:
    """The executed file. Raises InputError if it cannot be imported, or if a module next to it is hidden."""
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    file_is = path.stat()
    module = _execute(path, path.resolve(), file_is.st_mtime_ns, file_is.st_size)
    sys.modules[module.__name__] = module  # another file of the same name may have replaced it
    return module


def raised(error: BaseException) -> str:
    """`SystemExit: bye`, or `SystemExit` without a message."""
    return f"{type(error).__name__}: {error}".removesuffix(": ")


@functools.cache
def _execute(path: Path, resolved: Path, _mtime_ns: int, _size: int) -> ModuleType:
    """Cached until the file changes, because a suite asks for it several times per case."""
    specification = importlib.util.spec_from_file_location(f"bench_custom_{path.stem}", path)
    if specification is None or specification.loader is None:
        raise InputError(f"{path} is not a Python file")
    folder = str(resolved.parent)
    if folder not in sys.path:
        sys.path.append(folder)
    _refuse_hidden(path, resolved.parent)
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module  # dataclasses look up their module there
    try:
        with current_folder_kept():
            specification.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # the file may raise anything
        raise InputError(f"{path} cannot be imported: {raised(error)}") from error
    return module


@contextmanager
def current_folder_kept() -> Iterator[None]:
    """Return to the current folder after an import of the user's code, which may change it: the command's relative
    paths would be others. A rank keeps the folder that its code chose."""
    if parent_process() is not None:  # a rank, or the check before a session
        yield
        return
    here = os.open(".", os.O_PATH)
    try:
        yield
    finally:
        os.fchdir(here)
        os.close(here)


def _refuse_hidden(path: Path, folder: Path) -> None:
    """Raise InputError if the file, or a module below its folder that it imports, imports a module next to it that
    Python would find elsewhere."""
    waiting, seen = [path], {path}
    while waiting:
        importer = waiting.pop()
        for base, name in _imported(importer, folder):
            own = _files(base, name)
            if base == folder and own:
                _refuse_if_hidden(importer, folder, name.partition(".")[0])
            waiting += [file for file in own if file not in seen]
            seen.update(own)


def _refuse_if_hidden(importer: Path, folder: Path, name: str) -> None:
    own = [
        one for one in (folder / name / "__init__.py", folder / f"{name}.py", folder / name) if one.exists()
    ]
    found = _found(name)
    if not any(_is_same_file(one, own[0]) for one in found):
        raise InputError(
            f"{importer} imports {name}, but Python finds {found[0]} before {own[0]}: rename the latter"
        )


def _is_same_file(found: str, own: Path) -> bool:
    """Whether an import of the name reads this file, perhaps through a link."""
    try:
        return own.samefile(found)
    except OSError:  # `a built-in module`
        return False


def _imported(path: Path, folder: Path) -> Iterator[tuple[Path, str]]:
    """Modules that a file may import anywhere in it: the folder to look in, and a dotted name. The last part of a name
    may be no module, as in `from model import GPT`."""
    try:
        tree = ast.parse(path.read_bytes(), str(path))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return  # executing it says why
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((folder, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = path.parents[node.level - 1] if 0 < node.level <= len(path.parents) else folder
            yield from ((base, ".".join(filter(None, (node.module, alias.name)))) for alias in node.names)


def _files(base: Path, name: str) -> list[Path]:
    """Files below `base` that an import of the dotted name reads: those of packages and of the module."""
    parts = name.split(".")
    places = [base.joinpath(*parts[: count + 1]) for count in range(len(parts))]
    candidates = [
        file for place in places for file in (place / "__init__.py", place.with_name(f"{place.name}.py"))
    ]
    return [file for file in candidates if file.is_file()]


def _found(name: str) -> list[str]:
    """The file that an import of the name reads, or the folders of a package without `__init__.py`; `a built-in module`
    if it has neither."""
    try:
        specification = importlib.util.find_spec(name)
    except ValueError:  # something put a module without a specification into sys.modules
        specification = None
    if specification is None:
        return ["a built-in module"]
    if specification.has_location and specification.origin:
        return [specification.origin]
    return [*(specification.submodule_search_locations or ()), "a built-in module"]
