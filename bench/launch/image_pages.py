"""Keeps the agent alive when its container's image goes away.

A signal to a whole Slurm step also ends the process that mounts an unprivileged Apptainer image. From then on a page
of a library that was never touched is a SIGBUS. So every page of every mapped file is read once, early.
"""

from __future__ import annotations

import ctypes
import threading
from pathlib import Path

from bench.container import container_kind

_MADV_POPULATE_READ = 22
"""Linux 5.14; older kernels refuse it, and nothing is worse than before."""


def read_all_pages() -> None:
    """In the background, where this process runs in an Apptainer image; elsewhere nothing."""
    if container_kind() == "apptainer":
        threading.Thread(target=_read, daemon=True).start()


def _read() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, permissions, _offset, _device, _inode, *path = line.split(maxsplit=5)
        if path and path[0].startswith("/") and permissions.startswith("r"):
            first, last = (int(address, 16) for address in span.split("-"))
            libc.madvise(first, last - first, _MADV_POPULATE_READ)
