"""The warm server: a process that has torch imported once and forks every rank from there.

A rank is still a fresh process with a fresh CUDA context; only the seconds of importing are saved. It is
multiprocessing's forkserver: ranks are its children, their exit status comes back through Process.exitcode.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from multiprocessing.process import BaseProcess

from bench.errors import InputError
from bench.train import rank

_ENVIRONMENT = {
    # is_available() may otherwise initialise the driver and spoil CUDA for every forked child
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
    # a thread pool that numpy's BLAS starts at import would not live in a forked child
    "OPENBLAS_NUM_THREADS": "1",
}


class WarmServer:
    """Starts with the first `start` and ends with this process, whatever ends it."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self.pid = 0

    def start(self) -> None:
        """Import torch in the server and learn its process id. Raises InputError where torch cannot be imported."""
        for name, value in _ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        self._context.set_forkserver_preload(["bench.launch.preload"])
        ours, theirs = self._context.Pipe(duplex=False)
        first = self._context.Process(target=_say_parent, args=(theirs,))
        _start(first)
        theirs.close()
        try:
            self.pid, failure = ours.recv()
        except EOFError:
            first.join()
            raise InputError(f"the process that ranks are forked from ended with {first.exitcode}") from None
        finally:
            ours.close()
        first.join()
        if failure is not None:
            raise InputError(f"torch cannot be imported here: {failure}; `bench doctor` says more")

    def fork(self, job_json: str) -> ForkServerProcess:
        """A new rank; not daemonic, or it could have no loader workers."""
        process = self._context.Process(target=rank.main, args=(job_json,), daemon=False)
        _start(process)
        return process


def _start(process: BaseProcess) -> None:
    # A forked child would run the calling script again under the name __mp_main__ before its own work; nothing of
    # a rank is defined there. multiprocessing asks sys.modules for it, so it gets an empty one for the moment.
    main = sys.modules["__main__"]
    sys.modules["__main__"] = type(sys)("__main__")
    try:
        process.start()
    finally:
        sys.modules["__main__"] = main


def _say_parent(answer: Connection) -> None:
    try:
        import bench.launch.preload  # noqa: F401 - imported by the server already, unless that failed
    except ImportError as error:
        answer.send((os.getppid(), str(error)))
    else:
        answer.send((os.getppid(), None))
