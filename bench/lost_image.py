"""Lets a session end in order after its container's image has gone away.

A signal to a whole Slurm step also ends the process that mounts an unprivileged Apptainer image. From then on an import
fails with `Transport endpoint is not connected`, and a page of a library that nobody has touched yet is a SIGBUS. So
nothing that runs after a stop may import a module or read a file of the image: what it needs is imported before the
first run, and its pages are read.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from bench.container import container_kind

SIGNAL_S = 2.0
"""Longest from a signal to a whole step, which also ends what mounts the image, to its arrival here."""
_ERRNOS = (errno.ENOTCONN, errno.ECONNABORTED)
_MADV_POPULATE_READ = 22
"""Linux 5.14; older kernels refuse it, and nothing is worse than before."""
_LARGE_BYTES = 100 * 2**20
"""A part of a library of this size is torch's or CUDA's: an agent maps it only if a workload's file imports torch."""


def read_pages() -> None:
    """Read every page of the files that this process maps now; large libraries in the background, since the end of a
    session calls none of them. Outside of Apptainer this does nothing."""
    if container_kind() != "apptainer":
        return
    spans = sorted(_mapped_spans())
    _read(span for span in spans if span[0] < _LARGE_BYTES)
    large = [span for span in spans if span[0] >= _LARGE_BYTES]
    threading.Thread(target=_read, args=(large,), daemon=True).start()


def is_gone() -> bool:
    """Whether files of this process's image, or our own where they are mounted over it, can no longer be read."""
    return container_kind() == "apptainer" and not all(map(_is_readable, (os.__file__, __file__)))


def _is_readable(file: str) -> bool:
    try:
        os.close(os.open(file, os.O_RDONLY))
    except OSError as error:
        return error.errno not in _ERRNOS
    return True


@contextmanager
def awaiting_its_signal() -> Iterator[None]:
    """An error comes because the image is gone: the signal that ended what mounted it is on its way. Waits for it, and
    then raises the error, unless the signal's handler has raised."""
    try:
        yield
    except Exception:
        if is_gone():
            time.sleep(SIGNAL_S)
        raise


def hide_errors_of_a_lost_image() -> None:
    """In a helper process: show no traceback that the lost image causes. The agent reports it."""
    sys.excepthook = _show_unless_gone


def _show_unless_gone(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not is_gone():
        sys.__excepthook__(kind, error, trace)


def _mapped_spans() -> Iterator[tuple[int, int]]:
    """Length in bytes and address of each readable part of a file that this process maps."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, permissions, _offset, _device, _inode, *path = line.split(maxsplit=5)
        if path and path[0].startswith("/") and permissions.startswith("r"):
            first, last = (int(address, 16) for address in span.split("-"))
            yield last - first, first


def _read(spans: Iterable[tuple[int, int]]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for length, first in spans:
        libc.madvise(first, length, _MADV_POPULATE_READ)
