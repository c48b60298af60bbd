"""Keeps what an agent that dies leaves behind: a small process that outlives it by the moment that this takes.

`python -m bench.launch.keeper FOLDER` is told on its standard input, a JSON line each, which run's raw files lie
where, where they belong and which ranks write them; null when that run is stored. When its input ends with a run
open, it waits for those ranks, moves the raw files to where a resume and `bench load` find them, removes FOLDER, the
agent's scratch, and ends. It imports nothing outside the standard library and, once it runs, nothing at all: the image
it came from may be gone by then.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import safe_path
from bench.files import attempt_folder, copy_whole, raw_files
from bench.process import is_running, name_process

RANKS_END_S = 10.0
"""Longest wait for a dead agent's ranks, which the kernel kills, unless it is in trouble, at once."""


@dataclass(kw_only=True)
class Keeper:
    """The agent's handle."""

    process: subprocess.Popen[bytes]

    @classmethod
    def start(cls, agent_scratch: Path) -> Keeper:
        command = safe_path.command("bench.launch.keeper", str(agent_scratch))
        # a session of its own: what is sent to the agent's process group is not meant for it
        # unbuffered: what a dead keeper did not take is forgotten, not written again in the end
        return cls(
            process=subprocess.Popen(
                command, env=safe_path.environment(), stdin=subprocess.PIPE, start_new_session=True, bufsize=0
            )
        )

    def begin(self, scratch: Path, folder: Path, attempt: int, ranks: Sequence[int] = ()) -> None:
        """From now on `scratch` holds a run that belongs into `folder`; `ranks` are its process ids, once there are."""
        self._say({"scratch": str(scratch), "folder": str(folder), "attempt": attempt, "ranks": list(ranks)})

    def end(self) -> None:
        """That run is stored."""
        self._say(None)

    def stop(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def _say(self, news: dict[str, Any] | None) -> None:
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # without it less is kept where the agent dies; the run goes on
            self.process.stdin.write((json.dumps(news) + "\n").encode())


def main(agent_scratch: str) -> None:
    """The process."""
    name_process("keeper")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    open_run: dict[str, Any] | None = None
    for line in sys.stdin:
        open_run = json.loads(line)
    if open_run is not None:
        _wait_for(open_run["ranks"])
        try:
            keep(Path(open_run["scratch"]), attempt_folder(Path(open_run["folder"]), open_run["attempt"]))
        except OSError:  # a full disk, most likely: what is here stays here, for a resume
            return
    shutil.rmtree(agent_scratch, ignore_errors=True)


def _wait_for(ranks: list[int]) -> None:
    """Until none of the processes runs any more: what they were storing is stored then."""
    deadline = time.monotonic() + RANKS_END_S
    while any(is_running(pid) for pid in ranks) and time.monotonic() < deadline:
        time.sleep(0.02)


def keep(scratch: Path, folder: Path) -> None:
    """Move a run's raw files; those already there stay."""
    for path in raw_files(scratch):
        if not (folder / path.name).exists():
            copy_whole(path, folder / path.name)


if __name__ == "__main__":
    main(sys.argv[1])
