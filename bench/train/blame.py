"""In which method, and at which line, of the user's own workload an error came up."""

from __future__ import annotations

import inspect
import traceback
from pathlib import Path

from bench.workloads import is_own, label, load
from bench.workloads._own import CALLED_WITH


def place_of(error: BaseException, workload: str) -> str:
    """` (in loss() of my_model.py:MyNet, line 27)`; empty where no method of such a workload is on the stack."""
    if not is_own(workload):
        return ""
    frames = _frames(error, workload)
    method = next((frame.name for frame in frames if frame.name in CALLED_WITH), None)
    return f" (in {method}() of {label(workload)}, line {frames[-1].lineno})" if method else ""


def line_of(error: BaseException, workload: str) -> str:
    """` (line 27)`, the last one in the user's own file; empty where none of it is on the stack."""
    frames = _frames(error, workload)
    return f" (line {frames[-1].lineno})" if frames else ""


def _frames(error: BaseException, workload: str) -> list[traceback.FrameSummary]:
    """Those in the workload's file, the innermost last."""
    file = _file_of(workload)
    return [
        part for part in traceback.extract_tb(error.__traceback__) if Path(part.filename).resolve() == file
    ]


def _file_of(workload: str) -> Path:
    if ":" in workload:
        return Path(workload.rpartition(":")[0]).resolve()
    return Path(inspect.getfile(load(workload).__bases__[0])).resolve()
