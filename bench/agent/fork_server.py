"""The warm server: a process that imports torch once and forks every rank. For ranks that become a user's command it
imports no torch.

A rank is still a fresh process with a fresh CUDA context; only the seconds of importing are saved. The server is
multiprocessing's forkserver: ranks are its children, and Process.exitcode gives the agent their exit status.
"""

from __future__ import annotations

import atexit
import importlib
import json
import multiprocessing
import os
import shlex
import signal
import sys
import tempfile
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from bench.agent.other_python import examine
from bench.agent.scratch_keeper import Keeper
from bench.common import safe_path
from bench.common.errors import InputError
from bench.common.process import adopt_orphans, die_with_parent, fork_children, kill_group, name_process
from bench.train import rank

_ENVIRONMENT = {
    # otherwise is_available() may initialise the driver, after which no forked child can use CUDA
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
    # numpy's BLAS would start a thread pool at import, which a forked child does not inherit
    "OPENBLAS_NUM_THREADS": "1",
    # otherwise CUDA numbers GPUs by speed, while NVML, nvidia-smi and Slurm number them by bus
    "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
}
_LONGEST_FOLDER_BYTES = 60
"""Longest temporary folder that leaves room for a socket's path in it: a Unix socket's path has at most 107 bytes."""
_ENDS_S = 10.0
"""Time for a process that has sent its answer to end by itself."""


class EndedError(InputError):
    """A forked process ended without sending its answer."""

    def __init__(self, ended_with: int | None) -> None:
        self.ended_with = ended_with
        """Exit code if 0 or more; otherwise the negative number of a signal."""
        super().__init__(
            f"a process forked to check this machine ended with {ended_with}; `bench doctor` says more"
        )


class ServerGoneError(InputError):
    """The server has ended, so nothing can be forked."""

    def __init__(self, error: Exception) -> None:
        super().__init__(f"the process that ranks are forked from is gone ({type(error).__name__})")


def _receive(answer: Connection, _pid: int) -> bytes:
    return answer.recv_bytes()


class WarmServer:
    """This process's handle of the server. The server ends when this process does, even if it is killed."""

    def __init__(self, *, loads_torch: bool = True, python: str | None = None) -> None:
        """`loads_torch`: whether the ranks of some run need torch (not those that become a user's command). `python`:
        the Python of the ranks; null: this one."""
        self._preload = "bench.agent.fork_server_preload" if loads_torch else "bench.train.rank"
        self._elsewhere = None if python is None else examine(python)
        self._shown: Path | None = None
        self._context = multiprocessing.get_context("forkserver")
        self.pid = 0
        self.variables: list[str] = []
        """Environment variables that `start` has set, because the caller had not."""

    def start(self) -> None:
        """Start the server and set `pid`. Raises InputError if torch cannot be imported.

        If the server is running already, this only checks that it answers."""
        self.variables += [name for name in _ENVIRONMENT if name not in os.environ]
        for name, value in _ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        _use_removed_socket_folder()
        adopt_orphans()  # of a server that is killed
        first = ["bench.agent.fork_server_signals"]
        if self._elsewhere is not None:
            self._shown = self._elsewhere.show(self.folder)
            self._context.set_executable(self._elsewhere.path)
            first.insert(0, "bench.agent.fork_server_elsewhere")
        self._context.set_forkserver_preload([*first, self._preload])
        self.pid, failure = json.loads(self._answer(_send_server_pid, self._preload))
        if failure is not None:
            if failure == "No module named 'torch'":
                install = shlex.join([sys.executable, "-m", "pip", "install", "torch", "torchvision"])
                raise InputError(
                    f"torch is not installed here: `{install}` installs it, or --python names a Python that has it"
                )
            if self._elsewhere is not None:
                raise InputError(f"--python {self._elsewhere.path}: its torch cannot be imported: {failure}")
            raise InputError(f"torch cannot be imported here: {failure}; `bench doctor` says more")

    def ask(
        self,
        module: str,
        question: str,
        stop_fd: int | None = None,
        receive: Callable[[Connection, int], bytes] = _receive,
    ) -> str:
        """Call `main(answer, question)` of `module` in a forked process and return what it sends to `answer`.

        `receive` gets our end of `answer` and the process's id; by default the first message is the answer. The process
        is killed if `stop_fd` can be read before the first message, or if `receive` raises. Raises EndedError if it
        sends nothing."""
        return self._answer(_call_main, module, question, stop_fd=stop_fd, receive=receive).decode()

    def _answer(
        self,
        target: Callable[..., None],
        *arguments: str,
        stop_fd: int | None = None,
        receive: Callable[[Connection, int], bytes] = _receive,
    ) -> bytes:
        ours, theirs = self._context.Pipe(duplex=False)
        process = self._context.Process(target=target, args=(theirs, *arguments))
        _start(process, self._shown)
        assert process.pid is not None
        theirs.close()
        try:
            if stop_fd is not None and ours not in wait([ours, stop_fd]):
                process.kill()
            return receive(ours, process.pid)
        except EOFError:
            process.join(_ENDS_S)
            process.kill()  # it has closed its files and goes on
            process.join()
            raise EndedError(process.exitcode) from None
        except BaseException:  # `receive` or a signal handler raised: the answer is no longer wanted
            process.kill()
            raise
        finally:
            ours.close()
            process.join(_ENDS_S)
            kill_group(process.pid)  # also processes that a user's code has left
            process.join()

    @property
    def folder(self) -> Path:
        """A private folder that is removed with this process, even if it is killed. Call `start` first."""
        return Path(_config()["tempdir"])

    def fork(self, job_json: str) -> ForkServerProcess:
        """Start a rank. It is not daemonic: a daemonic process could not start loader workers."""
        process = self._context.Process(target=rank.main, args=(job_json,), daemon=False)
        _start(process, self._shown)
        return process


def _config() -> dict[str, Any]:
    """multiprocessing's own settings of this process."""
    config: dict[str, Any] = multiprocessing.process.current_process()._config  # type: ignore[attr-defined]
    return config


def _use_removed_socket_folder() -> None:
    """Put multiprocessing's sockets into a folder that a keeper removes if this process is killed.

    multiprocessing's own folder would be left behind, and its sockets' paths would be too long with a long $TMPDIR."""
    config = _config()
    if "tempdir" not in config:
        folder = tempfile.gettempdir()
        folder = folder if len(os.fsencode(folder)) <= _LONGEST_FOLDER_BYTES else "/tmp"  # noqa: S108 - mkdtemp in it is safe
        config["tempdir"] = tempfile.mkdtemp(prefix="bench-sockets-", dir=folder)
        atexit.register(Keeper.start(Path(config["tempdir"])).stop)
        atexit.register(_ignore_signals)  # runs first: exit handlers run in reverse order


def _ignore_signals() -> None:
    """The other exit handlers take a moment; an interrupt during them would only print a traceback."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def _start(process: BaseProcess, shown: Path | None) -> None:
    # multiprocessing would make the child run the calling script, which it finds in sys.modules, under the name
    # __mp_main__. Ranks need nothing that is defined there, so it finds an empty module while the child starts.
    main = sys.modules["__main__"]
    sys.modules["__main__"] = type(sys)("__main__")
    try:
        with safe_path.safe_environment(shown):  # also of the server, which this starts again if it has died
            process.start()
    except (EOFError, ConnectionError) as error:
        raise ServerGoneError(error) from error
    finally:
        sys.modules["__main__"] = main


def _send_server_pid(answer: Connection, preloaded: str) -> None:
    failure = None
    try:
        importlib.import_module(preloaded)  # fails here if it failed in the server
    except ImportError as error:
        failure = str(error)
    answer.send_bytes(json.dumps([os.getppid(), failure]).encode())


def _call_main(answer: Connection, module: str, question: str) -> None:
    name_process(module.rpartition(".")[2])
    os.setpgid(0, 0)
    die_with_parent()
    fork_children()
    os.dup2(2, 1)  # a user's code may print; stdout is the command's answer
    importlib.import_module(module).main(answer, question)
    sys.stderr.flush()
    os._exit(0)  # without waiting for threads of a user's code
