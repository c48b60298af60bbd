"""Where the script starts processes with torch.multiprocessing. bench names the place if they take steps, too."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from pathlib import Path

import torch


def note_starts(recorder):
    """Leave the place of each later call of `spawn` or `start_processes` in the scratch folder."""
    module = sys.modules["torch.multiprocessing.spawn"]
    start = module.start_processes
    file = recorder.ending.scratch / f"spawned.rank{recorder.job['rank']}"

    @functools.wraps(start)
    def call(*arguments, **options):
        with contextlib.suppress(Exception):
            file.write_text(_place(sys._getframe(1)))
        return start(*arguments, **options)

    module.start_processes = torch.multiprocessing.start_processes = call  # `spawn` calls that of the module


def _place(frame):
    """File and line of the innermost frame outside of packages, or else outside of torch and the standard library."""
    python, ours, torchs = (
        f"{Path(file).parent}{os.sep}" for file in (os.__file__, __file__, torch.__file__)
    )
    own, packages = [], []
    while frame is not None:
        file, line = frame.f_code.co_filename, frame.f_lineno
        if "-packages" + os.sep in file:
            packages += [] if file.startswith((ours, torchs)) else [f"{Path(file).name} line {line}"]
        elif not file.startswith((python, ours, torchs, "<")):
            own.append(f"{Path(file).name} line {line}")
        frame = frame.f_back
    return next(iter([*own, *packages]), "")
