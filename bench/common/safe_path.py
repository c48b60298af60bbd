"""Prevent files in the current folder from being imported instead of the real modules.

`python -m`, `python -c` and an empty entry in PYTHONPATH put the current folder first on `sys.path`: a `json.py` there,
or nanoGPT's `bench.py`, would be imported instead of the real module. Every Python that we start gets a safe path and
a PYTHONPATH without empty entries. The fork server and processes with user code give their children the caller's
variables again, so that a user's command finds the same modules as without us.

`bench` does not support Python's option `-E`, which ignores these variables.
"""

from __future__ import annotations

import json
import os
import site
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

_ROOT = str(Path(__file__).resolve().parents[2])
"""The folder that holds `bench` and `analysis`."""
_OURS = ("analysis", "bench")
_CALLERS_VARIABLES = "BENCH_CALLERS_VARIABLES"
"""Passes the caller's values of `_VARIABLES` to a Python that we start; `protect_imports` removes it there."""
_VARIABLES = ("PYTHONPATH", "PYTHONSAFEPATH")


def command(module: str, *arguments: str, options: Sequence[str] = ()) -> list[str]:
    """The command line that runs one of our modules, with Python's own `options`; start it with `environment()`."""
    return [sys.executable, "-P", *options, "-m", module, *arguments]


def environment() -> dict[str, str]:
    """Our environment, changed so that a Python started with it finds us and ignores the current folder."""
    named = _named()
    if _ROOT not in (*named, *site.getsitepackages()):
        named.append(_ROOT)
    return _handing_over({"PYTHONPATH": os.pathsep.join(named), "PYTHONSAFEPATH": "1"})


def environment_elsewhere(shown: Path) -> dict[str, str]:
    """The same for another Python, which finds us in this folder."""
    return _handing_over({"PYTHONPATH": os.pathsep.join([str(shown), *_named()]), "PYTHONSAFEPATH": "1"})


def environment_of_an_image() -> dict[str, str]:
    """The same for a Python in a container, which has its own copy of our code."""
    return _handing_over({"PYTHONPATH": os.pathsep.join(_named())})


def _named() -> list[str]:
    """The entries of PYTHONPATH that are not empty."""
    return [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]


def _handing_over(changed: Mapping[str, str]) -> dict[str, str]:
    caller = {name: os.environ.get(name) for name in _VARIABLES}
    return {**os.environ, **changed, _CALLERS_VARIABLES: json.dumps(caller)}


@contextmanager
def safe_environment(shown: Path | None = None) -> Iterator[None]:
    """Within `with`, a Python that the standard library starts gets `environment()`; there is no argument for it.
    `shown`: a folder that another Python finds us in."""
    changed = environment() if shown is None else environment_elsewhere(shown)
    before = {name: os.environ.get(name) for name in (*_VARIABLES, _CALLERS_VARIABLES)}
    os.environ.update({name: changed[name] for name in before})
    try:
        yield
    finally:
        _set(before)


def protect_imports() -> None:
    """From now on this process imports installed modules first, even if user code changes `sys.path`; folders that it
    adds are searched last. Call it before anything else is imported.

    Limit: a module in an added folder wins over a namespace package (folders without `__init__.py`)."""
    if any(isinstance(finder, _InstalledFirst) for finder in sys.meta_path):
        return
    sys.path[:] = _without_the_current_folder(sys.path)
    if _ROOT not in sys.path:
        sys.path.append(_ROOT)
    _set(json.loads(os.environ.pop(_CALLERS_VARIABLES, "{}")))
    sys.meta_path.insert(sys.meta_path.index(PathFinder), _InstalledFirst(sys.path))


def find_us_in(folder: Path) -> None:
    """From now on `bench` is imported from this folder, which links to it. Call it before `protect_imports`."""
    global _ROOT  # noqa: PLW0603 - a fact of this process
    _ROOT = str(folder)


def installed_path() -> str:
    """The folders of installed modules, written like PYTHONPATH."""
    protected = next(
        (finder.path for finder in sys.meta_path if isinstance(finder, _InstalledFirst)), sys.path
    )
    return os.pathsep.join(protected)


class _InstalledFirst:
    """Finds top-level modules on the initial `sys.path`; the next finders search for all others."""

    def __init__(self, path: Sequence[str]) -> None:
        self.path = tuple(path)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if path is not None:  # a submodule: its package knows the path
            return None
        found = PathFinder.find_spec(name, (_ROOT,) if name in _OURS else self.path, target)
        # a folder without __init__.py has no loader: a real module of that name may come later
        return found if found is not None and found.loader is not None else None


def _without_the_current_folder(path: Sequence[str]) -> list[str]:
    """`path` without the entries that Python adds unasked: the empty entry of `python -c`, and the current folder for
    an empty entry of PYTHONPATH. A folder that PYTHONPATH names is kept."""
    try:
        here = os.getcwd()  # noqa: PTH109 - as Python itself writes it
    except OSError:  # removed or unreadable: nothing can be imported from it
        here = ""
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    is_unasked = len(entries) > 1 and "" in entries
    is_named = here != "" and here in map(os.path.abspath, _named())
    return [entry for entry in path if entry and (entry != here or is_named or not is_unasked)]


def _set(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
