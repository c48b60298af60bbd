"""An error as one line for its row: type, message, and the method and line of a custom workload that raised it."""

from __future__ import annotations

import inspect
import re
import traceback
from pathlib import Path

from bench.workloads import is_custom, label, load
from bench.workloads._custom import CALLED_WITH


def place_of(error: BaseException, workload: str) -> str:
    """` (in loss() of my_model.py:MyNet, line 27)`; empty if no method of a custom workload is on the stack."""
    if not is_custom(workload):
        return ""
    frames = _frames(error, workload)
    method = next((frame.name for frame in frames if frame.name in CALLED_WITH), None)
    return f" (in {method}() of {label(workload)}, line {frames[-1].lineno})" if method else ""


def line_of(error: BaseException, workload: str) -> str:
    """` (line 27)`, the innermost in the workload's file; empty if that file is not on the stack."""
    frames = _frames(error, workload)
    return f" (line {frames[-1].lineno})" if frames else ""


def _frames(error: BaseException, workload: str) -> list[traceback.FrameSummary]:
    """Frames in the workload's file, the innermost last."""
    named = workload.rpartition(":")[0] if ":" in workload else inspect.getfile(load(workload).__bases__[0])
    file = Path(named).resolve()
    return [
        part for part in traceback.extract_tb(error.__traceback__) if Path(part.filename).resolve() == file
    ]


def describe(error: BaseException) -> str:
    """Type and first line of the message, at most 2,000 characters; the whole traceback is in the rank's log."""
    name, message = type(error).__name__, str(error).strip()
    lines = message.splitlines() or ["no message"]
    if re.match(r"Caught \w+ in DataLoader worker process \d+\.\nOriginal ", message):
        # DataLoader's message is the traceback of its process: the exception follows the last frame.
        frames = [number for number, line in enumerate(lines) if line.startswith("  ")]
        if frames and frames[-1] + 1 < len(lines):
            _, _, raised = lines[frames[-1] + 1].partition(": ")
            return f"{name} in a loader process: {raised or 'no message'}"[:2000]
    return f"{name}: {lines[0]}"[:2000]
