"""Environments with other versions of packages than the lock's. Each is made once and kept, by its packages."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.test_questions import make_sessions

ROOT = Path(__file__).parents[2]
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "scalebench" / "environments"

Environment = Callable[..., Path]
"""Packages and options, as pip names them -> the Python of an environment that has them."""


@pytest.fixture(scope="session")
def uv() -> str:
    found = os.environ.get("UV") or shutil.which("uv", path=f"{os.environ['PATH']}:{ROOT}/.venv-uv/bin")
    if found is None:
        pytest.fail("there is no uv: start these tests with ci/test versions")
    return found


@pytest.fixture(scope="session")
def environment(uv: str) -> Environment:
    return lambda *packages: _made(uv, packages)


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session that was measured here, with profiled steps, and those of the questions of docs/sql.md."""
    folder = tmp_path_factory.mktemp("measured")
    make_sessions(folder)
    measured = (
        "suite spiral_scaling --quick --repeats 2 --set measure.profiled=2 --world 1,2 --device cpu --results"
    )
    subprocess.run([sys.executable, "-m", "bench", *measured.split(), folder], check=True, cwd=ROOT)
    return folder


@pytest.fixture(scope="session")
def torch_2_11(environment: Environment) -> Path:
    return environment("torch==2.11.0", "torchvision==0.26.0", "numpy", "pip")


def _made(uv: str, packages: tuple[str, ...]) -> Path:
    folder = CACHE / hashlib.sha256("\n".join(packages).encode()).hexdigest()[:16]
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        python, complete = folder / "bin" / "python", folder / "complete"
        if not complete.exists():
            shutil.rmtree(folder, ignore_errors=True)
            subprocess.run([uv, "venv", "--quiet", "--no-python-downloads", folder], check=True)
            subprocess.run([uv, "pip", "install", "--quiet", "--python", python, *packages], check=True)
            complete.touch()
    return python
