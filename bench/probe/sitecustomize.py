"""Loads the probe into a training script: `bench run` puts this folder first on PYTHONPATH.

Python imports `sitecustomize` before the script begins. The probe itself begins when `import torch` has ended; a script
that never imports torch is not touched. A `sitecustomize` that this one hides is run, too.
"""

import importlib.util
import os
import sys
from importlib.machinery import PathFinder
from pathlib import Path


class _AfterTorch:
    """A finder that lets the probe begin right after torch is imported, and then leaves.

    It stays if the script only asks where torch is."""

    is_asking = False

    def find_spec(self, name, _path=None, _target=None):
        if name != "torch" or self.is_asking:
            return None
        self.is_asking = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.is_asking = False
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module):
                if self in sys.meta_path:
                    sys.meta_path.remove(self)
                load(module)
                import bench_probe.record

                bench_probe.record.begin()

            spec.loader.exec_module = exec_module
        return spec


def _run_the_hidden_one():
    here = Path(__file__).resolve().parent
    others = [folder for folder in sys.path if Path(folder).resolve() != here]
    spec = PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if os.environ.get("BENCH_PROBE"):
    sys.meta_path.insert(0, _AfterTorch())
_run_the_hidden_one()
