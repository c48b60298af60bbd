"""Let a session end in order after its container's image has gone away.

A signal to a whole Slurm step also ends the process that mounts an unprivileged Apptainer image. From then on an import
fails with `Transport endpoint is not connected`, and touching a new page of a library raises SIGBUS. Code that runs
after a stop therefore imports no module and reads no file of the image: both happen before the first run.
"""

from __future__ import annotations

import errno
import os
import re
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType

from bench.common.system_files import text_of
from bench.machine.container import container_kind

SIGNAL_S = 2.0
"""Longest time from a signal to a whole step until it arrives here; the mount of the image may end before."""
_ERRNOS = (errno.ENOTCONN, errno.ECONNABORTED)
_MADV_POPULATE_READ = 22
"""Needs Linux 5.14; older kernels refuse it, which does no harm."""
_LARGE_BYTES = 100 * 2**20
"""Libraries with parts of this size belong to torch or CUDA; an agent maps them only if a workload imports torch."""


def read_pages() -> None:
    """Read every page of the files that this process maps now, large libraries in the background, because the end of a
    session calls none of them. Outside of Apptainer this does nothing."""
    if container_kind() != "apptainer":
        return
    spans = sorted(_mapped_spans())
    _read(span for span in spans if span[0] < _LARGE_BYTES)
    large = [span for span in spans if span[0] >= _LARGE_BYTES]
    threading.Thread(target=_read, args=(large,), daemon=True).start()


def is_gone() -> bool:
    """Whether files of this process's image, or our own files mounted over it, can no longer be read."""
    return container_kind() == "apptainer" and not all(map(_is_readable, (os.__file__, __file__)))


def _is_readable(file: str) -> bool:
    try:
        os.close(os.open(file, os.O_RDONLY))
    except OSError as error:
        return error.errno not in _ERRNOS
    return True


@contextmanager
def awaiting_its_signal() -> Iterator[None]:
    """If an error comes from the lost image, the signal that ended its mount is on its way: wait for the signal, then
    raise the error, unless the signal's handler raises first."""
    try:
        yield
    except Exception:
        if is_gone():
            time.sleep(SIGNAL_S)
        raise


def hide_errors_of_a_lost_image() -> None:
    """In a helper process, show no traceback of errors from the lost image: the agent reports them."""
    sys.excepthook = _show_unless_gone


def _show_unless_gone(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not is_gone():
        sys.__excepthook__(kind, error, trace)


def _mapped_spans() -> Iterator[tuple[int, int]]:
    """Length in bytes and address of each readable part of a file that this process maps."""
    of_files = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) r\S* \S+ \S+ \S+ +/", re.MULTILINE)
    for begin, end in of_files.findall(text_of("/proc/self/maps")):
        yield int(end, 16) - int(begin, 16), int(begin, 16)


def _read(spans: Iterable[tuple[int, int]]) -> None:
    import ctypes  # takes as long to import as a tenth of `bench --help`

    libc = ctypes.CDLL(None, use_errno=True)
    libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for length, first in spans:
        libc.madvise(first, length, _MADV_POPULATE_READ)
