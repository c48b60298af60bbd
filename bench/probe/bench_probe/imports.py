"""Calls a function as soon as the script has imported a module."""

from __future__ import annotations

import importlib.util
import sys


def after_import(name, act):
    """Call `act(module)` when the module `name` has been imported: at once, or later, or never."""
    if name in sys.modules:
        act(sys.modules[name])
    else:
        sys.meta_path.insert(0, _After(name, act))


class _After:
    """A finder that acts right after its module is imported, and then leaves.

    It stays if the script only asks where the module is."""

    is_asking = False

    def __init__(self, name, act):
        self._name, self._act = name, act

    def find_spec(self, name, _path=None, _target=None):
        if name != self._name or self.is_asking:
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
                self._act(module)

            spec.loader.exec_module = exec_module
        return spec
