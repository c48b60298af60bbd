"""The keeper: a small process that outlives a dead agent to save the raw files of its run.

`python -m bench.agent.scratch_keeper FOLDER` reads JSON lines from its standard input. Each says where the raw files of
the current run are, where they belong and which ranks write them; `null` says that the run is stored. If its input ends
during a run, the agent has died: the keeper waits for the ranks and copies the raw files to where a resume and
`bench load` find them. Then it removes FOLDER, the agent's scratch folder, and ends. It imports only the standard
library and, once it runs, nothing at all: the image that it came from may be gone by then.
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

from bench.common import safe_path
from bench.common.files import attempt_folder, copy_whole, raw_files
from bench.common.process import is_running, name_process

RANKS_END_S = 10.0
"""Longest wait for the ranks of a dead agent; normally the kernel kills them at once."""


@dataclass(kw_only=True)
class Keeper:
    """The agent's handle of its keeper process."""

    process: subprocess.Popen[bytes]

    @classmethod
    def start(cls, agent_scratch: Path) -> Keeper:
        command = safe_path.command("bench.agent.scratch_keeper", str(agent_scratch))
        # new session: signals to the agent's process group do not reach the keeper
        # unbuffered: a line that a dead keeper did not read is dropped, not written again at exit
        return cls(
            process=subprocess.Popen(
                command, env=safe_path.environment(), stdin=subprocess.PIPE, start_new_session=True, bufsize=0
            )
        )

    def begin(self, scratch: Path, folder: Path, attempt: int, ranks: Sequence[int] = ()) -> None:
        """Raw files in `scratch` now belong to a run in `folder`; `ranks` are its process ids, once they are known."""
        self._send({"scratch": str(scratch), "folder": str(folder), "attempt": attempt, "ranks": list(ranks)})

    def end(self) -> None:
        """The run is stored: nothing has to be saved."""
        self._send(None)

    def stop(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def _send(self, run: dict[str, Any] | None) -> None:
        assert self.process.stdin is not None
        with suppress(
            BrokenPipeError
        ):  # without a keeper, less is saved if the agent dies; the run continues
            self.process.stdin.write((json.dumps(run) + "\n").encode())


def main(agent_scratch: str) -> None:
    """Run the keeper until its standard input ends."""
    name_process("keeper")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    open_run: dict[str, Any] | None = None
    for line in sys.stdin:
        open_run = json.loads(line)
    if open_run is not None:
        deadline = time.monotonic() + RANKS_END_S
        while any(is_running(pid) for pid in open_run["ranks"]) and time.monotonic() < deadline:
            time.sleep(0.02)
        try:
            keep(Path(open_run["scratch"]), attempt_folder(Path(open_run["folder"]), open_run["attempt"]))
        except OSError:  # probably a full disk: the files stay here for a resume
            return
    shutil.rmtree(agent_scratch, ignore_errors=True)


def keep(scratch: Path, folder: Path) -> None:
    """Copy a run's raw files to `folder`, except those that it already has."""
    for path in raw_files(scratch):
        if not (folder / path.name).exists():
            copy_whole(path, folder / path.name)


if __name__ == "__main__":
    main(sys.argv[1])
