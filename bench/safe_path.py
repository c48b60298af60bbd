"""Keeps files of the current folder from being imported in place of the real modules.

`python -m`, `python -c` and an empty entry in PYTHONPATH put the current folder first on `sys.path`: a `json.py` there,
or nanoGPT's `bench.py`, would run instead of the module that was meant. Every Python that we start gets `-P` and a
PYTHONPATH without empty entries. It gives its own children the environment of the caller again: a user's script that
runs below us finds the modules it would find without us.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

_ROOT = str(Path(__file__).resolve().parents[1])
"""The folder that holds `bench` and `analysis`."""
_OURS = ("analysis", "bench")
_CALLER = "BENCH_CALLER_ENVIRONMENT"
"""Hands the caller's values of `_REPLACED` to a Python that we start; `protect_imports` there takes it away."""
_REPLACED = ("PYTHONPATH", "PYTHONSAFEPATH")


def command(module: str, *arguments: str, options: Sequence[str] = ()) -> list[str]:
    """The command line that runs one of our modules, with Python's own `options`; start it with `environment()`."""
    return [sys.executable, "-P", *options, "-m", module, *arguments]


def environment() -> dict[str, str]:
    """Our environment, changed so that a Python started with it imports nothing from the current folder."""
    caller = {name: os.environ.get(name) for name in _REPLACED}
    named = [entry for entry in (caller["PYTHONPATH"] or "").split(os.pathsep) if entry]
    if not _IS_INSTALLED and _ROOT not in named:
        named.append(_ROOT)
    changed = dict(os.environ, PYTHONPATH=os.pathsep.join(named), PYTHONSAFEPATH="1")
    return changed | {_CALLER: json.dumps(caller)}


@contextmanager
def around_a_start() -> Iterator[None]:
    """Within `with`, a Python that the standard library starts gets `environment()`; it takes no argument for it."""
    changed = environment()
    before = {name: os.environ.get(name) for name in (*_REPLACED, _CALLER)}
    os.environ.update({name: changed[name] for name in before})
    try:
        yield
    finally:
        _set(before)


def protect_imports() -> None:
    """From now on this process imports what is installed, whatever is in the current folder and whatever user code
    does to `sys.path`; folders that user code adds are searched last. Call it before anything else is imported."""
    if any(isinstance(finder, _InstalledFirst) for finder in sys.meta_path):
        return
    sys.path[:] = _without_the_current_folder(sys.path)
    if _ROOT not in sys.path:
        sys.path.append(_ROOT)
    _set(json.loads(os.environ.pop(_CALLER, "{}")))
    sys.meta_path.insert(sys.meta_path.index(PathFinder), _InstalledFirst(sys.path))


class _InstalledFirst:
    """Finds top-level modules on the `sys.path` of the start; what is not there is left to the finders after it."""

    def __init__(self, path: Sequence[str]) -> None:
        self._path = tuple(path)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if path is not None:  # a submodule: its package says where
            return None
        found = PathFinder.find_spec(name, (_ROOT,) if name in _OURS else self._path, target)
        # a folder without __init__.py has no loader: a real module of that name may come later
        return found if found is not None and found.loader is not None else None


def _without_the_current_folder(path: Sequence[str]) -> list[str]:
    """`path` without what Python added to it unasked."""
    here = ("", os.getcwd())  # noqa: PTH109 - as Python itself writes it
    first_is_unasked = not sys.flags.safe_path and path[0] in here
    rest = path[1:] if first_is_unasked else path
    named = (os.environ.get("PYTHONPATH") or ".").split(os.pathsep)
    return [entry for entry in rest if entry not in here or entry in named] if "" in named else list(rest)


def _set(values: dict[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


_IS_INSTALLED = _ROOT in map(os.path.realpath, _without_the_current_folder(sys.path))
"""Else `python -m bench` found us in the current folder, as in a checkout that is installed nowhere."""
