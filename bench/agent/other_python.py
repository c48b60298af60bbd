"""Ranks in another Python, which has torch: what it must have, and what it is shown of this installation."""

from __future__ import annotations

import functools
import importlib.util
import json
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bench
from bench.common import safe_path
from bench.common.errors import InputError
from bench.machine import gpu_vendor

_NEEDED = ("torch", "numpy")
_SHOWN = ("annotated_types", "psutil", "pynvml", "setproctitle")
"""Other modules that ranks import. Ours are shown if the other Python has none: one file or folder each, which needs no
other package. The compiled ones are the reason why both Pythons must be of one version."""
_VERSIONS = ("torch", "torchvision", "numpy")
_PROGRAM = """
import importlib.util, json, platform, sys
from importlib import metadata

def version(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"

names, versions = json.loads(sys.argv[1])
print("scalebench: " + json.dumps({
    "python": platform.python_version(),
    "missing": [name for name in names if getattr(importlib.util.find_spec(name), "origin", None) is None],
    "torch": getattr(importlib.util.find_spec("torch"), "origin", None),
    "versions": {name: version(name) for name in versions},
}))
"""
_ANSWER = "scalebench: "
"""Begins the line of the answer; a Python may print others at its start and at its end."""
_PATIENCE_S = 120.0
_VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"


_OLDEST_TORCH = (2, 6)


def torch_too_old(version: str) -> str | None:
    """Why a torch of this version cannot be measured with; null if it can, or if the version is not known."""
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers is None or (int(numbers[1]), int(numbers[2])) >= _OLDEST_TORCH:
        return None
    return f"its torch is {version}, and scalebench measures with 2.6 or newer: install a newer torch"


class _NoAnswerError(Exception):
    """The text says why a Python did not say what it has."""


@dataclass(frozen=True, kw_only=True)
class OtherPython:
    """A Python that can run ranks."""

    path: str
    torch: Path
    """Its package."""
    facts: dict[str, str]
    """Its facts for the `environment` table, in place of those of this Python."""
    shown: dict[str, Path]
    """File or folder of each module that it is shown, by the name under which it finds it."""

    def show(self, folder: Path) -> Path:
        """Make a folder for PYTHONPATH that holds these modules and nothing else."""
        site = folder / "shown"
        if not site.is_dir():
            site.mkdir()
            for name, target in self.shown.items():
                (site / name).symlink_to(target)
        return site


@functools.cache
def examine(python: str) -> OtherPython:
    """Raises InputError if ranks cannot run in it; the message names what is missing."""
    try:
        found = _ask(python)
    except _NoAnswerError as error:
        raise InputError(
            f"--python {python}: {error}: give the path of a Python {_VERSION} that has torch, as in --python "
            "~/mine/bin/python"
        ) from error
    theirs = found["python"].rpartition(".")[0]
    if theirs != _VERSION:
        raise InputError(
            f"--python {python}: it is Python {theirs}, and this is {_VERSION}: install scalebench in an environment "
            f"of Python {theirs}"
        )
    if lacking := [name for name in _NEEDED if name in found["missing"]]:
        install = shlex.join([python, "-m", "pip", "install", *lacking])
        raise InputError(f"--python {python}: it has no {' and no '.join(lacking)}: `{install}` installs it")
    if too_old := torch_too_old(found["versions"]["torch"]):
        raise InputError(f"--python {python}: {too_old}")
    torch = Path(found["torch"]).parent
    if (gpu_vendor.built_for("hip", torch) is not None) != gpu_vendor.is_amd():
        raise InputError(
            f"--python {python}: its torch and the one here use GPUs of different vendors, and scalebench looks for "
            "those of its own torch: install scalebench next to that torch"
        )
    shown = {"bench": Path(bench.__file__).parent}
    for name in _SHOWN:
        spec = importlib.util.find_spec(name) if name in found["missing"] else None
        if spec is not None and spec.origin is not None:
            file = Path(spec.origin)
            target = file.parent if spec.submodule_search_locations else file
            shown[target.name] = target
    facts = {"python": found["python"], **found["versions"], "ranks_python": python}
    return OtherPython(path=python, torch=torch, facts=facts, shown=shown)


def _ask(python: str) -> dict[str, Any]:
    """The answer of a Python to the program above. Raises _NoAnswerError."""
    asked = [python, "-c", _PROGRAM, json.dumps([[*_NEEDED, *_SHOWN], _VERSIONS])]
    environment = safe_path.environment_of_an_image()  # with the caller's PYTHONPATH, without our folder
    try:
        ended = subprocess.run(
            asked,
            env=environment,
            cwd="/",
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE_S,
            check=False,
        )
    except OSError as error:
        raise _NoAnswerError(f"it does not start ({error.strerror})") from error
    except subprocess.TimeoutExpired as error:
        raise _NoAnswerError(f"it did not answer within {_PATIENCE_S:.0f} s") from error
    if ended.returncode != 0:
        said = ended.stderr.strip().splitlines()[-1:] or ["it printed no error"]
        raise _NoAnswerError(f"it ended with exit code {ended.returncode} ({said[0]})")
    try:
        answers = [line for line in ended.stdout.splitlines() if line.startswith(_ANSWER)]
        found: dict[str, Any] = json.loads(answers[-1].removeprefix(_ANSWER))
        return {key: found[key] for key in ("python", "missing", "torch", "versions")}
    except (IndexError, ValueError, KeyError, TypeError) as error:
        raise _NoAnswerError("it runs no Python code") from error
