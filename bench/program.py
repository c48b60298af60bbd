"""How this program was called, for the commands that it advises."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path


def called() -> str:
    """Words for a shell: `bench` where that finds it, else what was called now."""
    if shutil.which("bench"):
        return "bench"
    if Path(sys.argv[0]).name == "__main__.py":
        return shlex.join([sys.orig_argv[0], "-m", "bench"])
    return shlex.quote(sys.argv[0])
