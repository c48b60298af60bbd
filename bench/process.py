"""Ties between processes: who dies with whom."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from pathlib import Path

_PR_SET_PDEATHSIG = 1


def die_with_parent(expected_parent: int | None = None) -> None:
    """SIGKILL this process when its parent ends. Exits at once where `expected_parent` is gone already."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if expected_parent is not None and os.getppid() != expected_parent:
        os._exit(1)


def kill_group(pid: int) -> None:
    """SIGKILL the process group that `pid` leads (a rank and its loader workers); gone already is well."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def is_stopped(pid: int) -> bool:
    """Whether the process was stopped by a signal (SIGSTOP, a debugger)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:  # gone
        return False
    return stat.rpartition(")")[2].split()[0] in "Tt"
