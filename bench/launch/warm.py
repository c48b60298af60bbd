"""The warm server: a process that has torch imported once and forks every rank from there.

A rank is still a fresh process with a fresh CUDA context; only the seconds of importing are saved. It is
multiprocessing's forkserver: ranks are its children, their exit status comes back through Process.exitcode.
"""

from __future__ import annotations

import atexit
import importlib
import json
import multiprocessing
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess
from multiprocessing.process import BaseProcess
from pathlib import Path

from bench import safe_path
from bench.errors import InputError
from bench.launch.keeper import Keeper
from bench.process import name_process
from bench.train import rank

_ENVIRONMENT = {
    # is_available() may otherwise initialise the driver and spoil CUDA for every forked child
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
    # a thread pool that numpy's BLAS starts at import would not live in a forked child
    "OPENBLAS_NUM_THREADS": "1",
    # CUDA numbers GPUs by speed otherwise, NVML, nvidia-smi and Slurm by bus: numbers would mean two things
    "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
}
_LONGEST_FOLDER_BYTES = 60
"""Of a temporary folder, so that a socket in a folder in it can have a path: a Unix socket's has 107 bytes at most."""


class EndedError(InputError):
    """A forked process that was asked something ended without an answer."""

    def __init__(self, ended_with: int | None) -> None:
        self.ended_with = ended_with
        """0 or more is an exit code, below it a signal's number."""
        super().__init__(
            f"a process forked to look at this machine ended with {ended_with}; `bench doctor` says more"
        )


class ServerGoneError(InputError):
    """The process that others are forked from has ended."""

    def __init__(self, error: Exception) -> None:
        super().__init__(f"the process that ranks are forked from is gone ({type(error).__name__})")


class WarmServer:
    """Ends with this process, whatever ends it."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self.pid = 0

    def start(self) -> None:
        """Import torch in the server and learn its process id. Raises InputError where torch cannot be imported."""
        for name, value in _ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        _use_a_folder_that_is_removed()
        self._context.set_forkserver_preload(["bench.launch.shield", "bench.launch.preload"])
        self.pid, failure = json.loads(self._answer(_say_parent))
        if failure is not None:
            raise InputError(f"torch cannot be imported here: {failure}; `bench doctor` says more")

    def ask(self, module: str, question: str, stop_fd: int | None = None) -> str:
        """Call `main(answer, question)` of a module in a process of its own; returns what it sends.

        The process is ended once `stop_fd` can be read. Raises EndedError where it sends nothing."""
        return self._answer(_call, module, question, stop_fd=stop_fd).decode()

    def _answer(self, target: Callable[..., None], *arguments: str, stop_fd: int | None = None) -> bytes:
        ours, theirs = self._context.Pipe(duplex=False)
        process = self._context.Process(target=target, args=(theirs, *arguments))
        _start(process)
        theirs.close()
        try:
            if stop_fd is not None and ours not in wait([ours, stop_fd]):
                process.kill()
            return ours.recv_bytes()
        except EOFError:
            process.join()
            raise EndedError(process.exitcode) from None
        except BaseException:  # stopped by a signal: the answer is not waited for any more
            process.kill()
            raise
        finally:
            ours.close()
            process.join()

    def fork(self, job_json: str) -> ForkServerProcess:
        """A new rank; not daemonic, or it could have no loader workers."""
        process = self._context.Process(target=rank.main, args=(job_json,), daemon=False)
        _start(process)
        return process


def _use_a_folder_that_is_removed() -> None:
    """Of multiprocessing's sockets: its own would stay where this process is killed, and fail where $TMPDIR is long."""
    config = multiprocessing.process.current_process()._config  # type: ignore[attr-defined]
    if "tempdir" not in config:
        folder = tempfile.gettempdir()
        folder = folder if len(os.fsencode(folder)) <= _LONGEST_FOLDER_BYTES else "/tmp"  # noqa: S108 - mkdtemp in it is safe
        config["tempdir"] = tempfile.mkdtemp(prefix="bench-sockets-", dir=folder)
        atexit.register(Keeper.start(Path(config["tempdir"])).stop)
        atexit.register(_ignore_signals)  # runs first


def _ignore_signals() -> None:
    """What is left to do takes a moment; all that an interrupt would bring is a traceback."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def _start(process: BaseProcess) -> None:
    # A forked child would run the calling script again under the name __mp_main__ before its own work; nothing of
    # a rank is defined there. multiprocessing asks sys.modules for it, so it gets an empty one for the moment.
    main = sys.modules["__main__"]
    sys.modules["__main__"] = type(sys)("__main__")
    try:
        with safe_path.safe_environment():  # of the server, too, which is started again where it has died
            process.start()
    except (EOFError, ConnectionError) as error:
        raise ServerGoneError(error) from error
    finally:
        sys.modules["__main__"] = main


def _say_parent(answer: Connection) -> None:
    failure = None
    try:
        import bench.launch.preload  # noqa: F401 - imported by the server already, unless that failed
    except ImportError as error:
        failure = str(error)
    answer.send_bytes(json.dumps([os.getppid(), failure]).encode())


def _call(answer: Connection, module: str, question: str) -> None:
    name_process(module.rpartition(".")[2])
    importlib.import_module(module).main(answer, question)
