"""Where an error arose in the user's own code: the method and line of a custom class or loader."""

from __future__ import annotations

import inspect
from pathlib import Path

from bench import strategies, workloads
from bench.common import entry_points
from bench.common.custom_part import CustomPart, label
from bench.common.error_text import frames_in, line_in
from bench.strategies._custom import STRATEGY
from bench.workloads._custom import WORKLOAD


def place_of(error: BaseException, workload: str, strategy: str | None = None, source: str = "") -> str:
    """` (in loss() of my_model.py:MyNet, line 27)`, or ` (in my_data.py, line 9)` for the loader of `source`; empty if
    neither is on the stack."""
    for kinds, part, name in ((workloads, WORKLOAD, workload), (strategies, STRATEGY, strategy)):
        if name is None or not kinds.is_custom(name):
            continue
        frames = frames_in(error, _file_of(part, name))
        method = next((frame.name for frame in frames if frame.name in part.called_with), None)
        if method:
            return f" (in {method}() of {label(name)}, line {frames[-1].lineno})"
    frames = frames_in(error, Path(source.rpartition(":")[0])) if ":" in source else []
    return f" (in {Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""


def line_of(error: BaseException, part: CustomPart, name: str) -> str:
    """` (line 27)`, the innermost in a custom class's file; empty if it is not on the stack, and for a shipped one."""
    if ":" not in name and name not in entry_points.found(part.group):  # one that ships
        return ""
    return line_in(error, _file_of(part, name))


def _file_of(part: CustomPart, name: str) -> Path:
    """The file of a custom class; of an entry point, that of the class that it names."""
    if ":" in name:
        return Path(name.rpartition(":")[0])
    return Path(inspect.getfile(part.load_entry(name, entry_points.found(part.group)[name]).__bases__[0]))
