"""The tasks of a Slurm step as srun would start them, all on this machine; Slurm itself is not needed.

The nodes are names of this machine that resolve on every system."""

from __future__ import annotations

import itertools
import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from tests.e2e.processes import BENCH, Marked

NODE_NAMES = ("localhost", "127.0.0.1")
PATIENCE_S = 120.0
_steps = itertools.count()


class Tasks:
    """The tasks of one step. Each task prints to a separate file."""

    def __init__(self, marked: Marked, folder: Path, tasks_per_node: Sequence[int], *arguments: str) -> None:
        self._marked, self._folder = marked, folder
        self._arguments = arguments
        self._tasks_per_node = tasks_per_node
        self.number = next(_steps)
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, then: Callable[[], object] = lambda: None) -> Tasks:
        """Start all tasks; call `then` once the leading task has started."""
        for node, count in enumerate(self._tasks_per_node):
            for local in range(count):
                self._start(node, local)
                if len(self.processes) == 1:
                    then()
        return self

    def wait(self) -> list[int]:
        """Exit code of every task."""
        return [process.wait(PATIENCE_S) for process in self.processes]

    def said(self) -> list[str]:
        """Output of each task so far."""
        return [self._log(task).read_text() for task in range(len(self.processes))]

    def _start(self, node: int, local: int) -> None:
        with self._log(len(self.processes)).open("w") as log:
            self.processes.append(self._popen(self._environment(node, local), log))

    def _popen(self, variables: dict[str, str], log: IO[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*BENCH, *self._arguments],
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )

    def _environment(self, node: int, local: int) -> dict[str, str]:
        outside = {
            name: value for name, value in self._marked.environment.items() if not name.startswith("SLURM_")
        }
        return outside | {
            "SLURM_JOB_ID": str(os.getpid()),
            "SLURM_STEP_ID": str(self.number),
            "SLURM_STEP_NODELIST": ",".join(NODE_NAMES[: len(self._tasks_per_node)]),
            "SLURM_STEP_NUM_NODES": str(len(self._tasks_per_node)),
            "SLURM_STEP_NUM_TASKS": str(sum(self._tasks_per_node)),
            "SLURM_STEP_TASKS_PER_NODE": ",".join(map(str, self._tasks_per_node)),
            "SLURM_PROCID": str(len(self.processes)),
            "SLURM_LOCALID": str(local),
            "SLURM_NODEID": str(node),
        }

    def _log(self, task: int) -> Path:
        return self._folder / f"step{self.number}.task{task}.log"
