"""Processes of a `bench` that a test started, found by a mark in their environment after any change of parent."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Mapping
from pathlib import Path

BENCH = [sys.executable, "-m", "bench"]
KEEPS_GARBAGE = "import atexit, gc\ngc.disable()\natexit.register(gc.freeze)\n"
"""First lines of a script. Python looks for garbage for a third of the CPU time of a script that imports torch."""


class Marked:
    """Starts `bench` with a mark that every descendant inherits."""

    def __init__(self, temporary: Path) -> None:
        self._mark = f"BENCH_TEST_MARK={uuid.uuid4()}"
        name, value = self._mark.split("=")
        self._shared_before = _shared_memory()
        self.environment = os.environ | {name: value, "TMPDIR": str(temporary), "NO_COLOR": "1"}

    def start(self, *arguments: str, **options: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*BENCH, *arguments], env=self.environment, text=True, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options,  # type: ignore[call-overload]
        )  # fmt: skip

    def run(self, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*BENCH, *arguments], cwd=cwd, env=self.environment, text=True, capture_output=True, check=False
        )

    def left(self, wait_s: float = 15.0) -> list[str]:
        """Command lines of marked processes that are still there after at most `wait_s`."""
        deadline = time.monotonic() + wait_s
        while (found := self._marked()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return found

    def left_in_shared_memory(self, wait_s: float = 15.0) -> set[str]:
        """New names in shared memory since the start, after at most `wait_s`: other processes may have some briefly."""
        deadline = time.monotonic() + wait_s
        while (found := _shared_memory() - self._shared_before) and time.monotonic() < deadline:
            time.sleep(0.05)
        return found

    def _marked(self) -> list[str]:
        found = []
        for process in Path("/proc").iterdir():
            if process.name.isdigit() and self._is_marked(process):
                found.append(f"{process.name}: {_read(process / 'cmdline').replace(chr(0), ' ')}")
        return found

    def _is_marked(self, process: Path) -> bool:
        return self._mark in _read(process / "environ").split("\0")


class OneProcess:
    """Runs `bench` commands one after another in a process of its own. Their sessions share a fork server, whose import
    of torch takes longer than a small session."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        program = Path(__file__).with_name("several_commands.py")
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(program)], env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def run(
        self, *arguments: str, cwd: Path | None = None, timeout_s: float = 600.0
    ) -> subprocess.CompletedProcess[str]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        limit = threading.Timer(timeout_s, self._process.kill)
        limit.start()
        self._process.stdin.write(json.dumps([str(cwd or Path.cwd()), arguments]) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        limit.cancel()
        assert answer, f"the process that runs the commands ended with {self._process.wait()}"
        return subprocess.CompletedProcess([*BENCH, *arguments], *json.loads(answer))

    def __enter__(self) -> OneProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()


def _shared_memory() -> set[str]:
    """Files in it with the names that Python and torch use."""
    kinds = ("torch_", "sem.", "psm_", "pymp-", "gloo", "bench", "scalebench")
    return {path.name for path in Path("/dev/shm").iterdir() if path.name.startswith(kinds)}


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:  # gone, or not ours
        return ""
