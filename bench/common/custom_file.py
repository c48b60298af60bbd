"""A Python file that a suite names: its class, and where an error arose in the user's code.

The file can import the modules next to it: its folder comes last on `sys.path`, after the standard library and
installed packages (safe_path). If the file imports a name that Python finds there first, although a module next to the
file has it too, the file is refused: it would silently run with the wrong module."""

from __future__ import annotations

import ast
import functools
import importlib.util
import os
import sys
import sysconfig
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, is_dataclass
from multiprocessing import parent_process
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, NoReturn, TypeVar

from annotated_types import Predicate

import bench
from bench.common.declared import check_attributes
from bench.common.errors import InputError

T = TypeVar("T")
_NOT_THE_USERS = (
    *(f"{sysconfig.get_path(name)}/" for name in ("stdlib", "platstdlib")),
    f"{Path(bench.__file__).parent}/",
    "<",
)
"""Beginnings of the paths of Python's and scalebench's code; `<` is code without a file."""


OptionsClass = Annotated[
    type[Any], Predicate(is_dataclass), "a class under @dataclass(frozen=True, kw_only=True)"
]


@dataclass(frozen=True, kw_only=True)
class NoOptions:
    """No options."""


def label(name: str) -> str:
    """The name of a workload or strategy in messages: a file without its folder."""
    return name.rpartition("/")[2] if ":" in name else name


def load_class(name: str, base: type[T]) -> type[T]:
    """The class at `FILE.py:CLASS`. Raises InputError if the file has no such subclass of `base`, or one whose
    attributes are not as `base` declares them."""
    file, _, class_name = name.rpartition(":")
    path = Path(file)
    found = getattr(execute(path), class_name, None)
    if found is None:
        raise InputError(f"{path} has no class {class_name}")
    if not isinstance(found, type) or not issubclass(found, base):
        word = base.__name__
        raise InputError(
            f"{class_name} of {path} is no subclass of {word}: write `class {class_name}({word}):`, after "
            f"`from {base.__module__} import {word}`"
        )
    check_attributes(found, base, label(name))
    return found


def place_of(error: BaseException) -> str | None:
    """The innermost frame of the user's code, such as `mine.py:12, in loss`; null if none is on the stack."""
    frames = [one for one in traceback.extract_tb(error.__traceback__) if not is_foreign(one.filename)]
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}, in {frames[-1].name}" if frames else None


def said(error: BaseException) -> str:
    """`mine.py:12, in loss: ValueError: too few`: the innermost frame of the user's code, if any, and the error."""
    place = place_of(error)
    return f"{place}: {raised(error)}" if place else raised(error)


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
        with current_folder_kept(), _ending_raises():
            specification.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # the file may raise anything
        place = place_of(error)
        at = f" ({place})" if place else ""
        ended = (
            ": the file ended the process; let it only define its classes"
            if isinstance(error, SystemExit)
            else ""
        )
        if isinstance(error, ModuleNotFoundError):
            ended = f": install it in {sys.prefix}, where the suite is read, even if --python names another"
        raise InputError(f"{path} cannot be imported: {raised(error)}{at}{ended}") from error
    return module


@contextmanager
def _ending_raises() -> Iterator[None]:
    """Inside, os._exit of this process raises SystemExit: the command would end without a word, as if it had worked."""
    ends, process = os._exit, os.getpid()

    def refuses(status: int) -> NoReturn:
        if os.getpid() != process:  # a fork that the file made
            ends(status)
        raise SystemExit(f"os._exit({status})")

    os._exit = refuses
    try:
        yield
    finally:
        os._exit = ends


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
