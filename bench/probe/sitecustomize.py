"""Loads the probe into a training script: `bench run` puts this folder first on PYTHONPATH.

Python imports `sitecustomize` before the script begins. The probe itself begins when `import torch` has ended; a script
that never imports torch is not touched, unless it is a launcher, such as torchrun, which does not start. A
`sitecustomize` that this one hides is run, too.
"""

import contextlib
import importlib.util
import os
import sys
from importlib.machinery import PathFinder
from pathlib import Path


def _begin(_torch):
    try:
        import bench_probe.record

        bench_probe.record.begin()
    except Exception:  # of ours: the script goes on without the probe
        import json
        import traceback

        job = json.loads(os.environ["BENCH_PROBE"])
        Path(job["scratch"], f"probe_error.rank{job['rank']}").write_text(traceback.format_exc())


def _run_the_hidden_one():
    here = Path(__file__).resolve().parent
    others = [folder for folder in sys.path if Path(folder).resolve() != here]
    spec = PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if os.environ.get("BENCH_PROBE"):
    from bench_probe.imports import after_import
    from bench_probe.launchers import refuse_launcher

    with contextlib.suppress(Exception):
        refuse_launcher()

    after_import("torch", _begin)
_run_the_hidden_one()
