"""Makes the training script that Python is about to run a shadow: `bench predict` puts this folder first on PYTHONPATH.

The script's Python need not be that of `bench`: it finds the package `bench` by this file, and all other modules where
it always does. A Python without torch is not touched, because it may start another one. A `sitecustomize` that this
one hides is not run."""

import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any


def _load_bench(package: Path) -> None:
    spec = importlib.util.spec_from_file_location("bench", package)
    assert spec is not None
    assert spec.loader is not None
    sys.modules["bench"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["bench"])


def _begin(job: Any) -> None:
    try:
        _load_bench(Path(__file__).resolve().parents[2] / "__init__.py")
        from bench.shadow import in_command

        in_command.begin(job)
    except Exception as error:  # Python would print it and run the script, which then waits for other ranks
        torch = getattr(sys.modules.get("torch"), "__version__", "of an unknown version")
        problem = (
            f"no shadow runs with torch {torch} and Python {sys.version.split()[0]} of {sys.executable} "
            f"({type(error).__name__}: {error}): start the script with a Python that has a newer torch, such as that "
            f"of bench, {job['python']}"
        )
        Path(job["answer"]).write_text(json.dumps({"problem": problem}))
        os._exit(1)


if "BENCH_SHADOW" in os.environ and importlib.util.find_spec("torch"):
    _begin(json.loads(os.environ.pop("BENCH_SHADOW")))
