"""`bench suite` in a Slurm step: a results folder that both the cluster and the test see, and a running step."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

from bench.measure import recorder
from tests.e2e.cluster.nodes import Nodes, until

BESIDE = [Path(__file__).parent / "held.py", Path(__file__).parents[1] / "faulty.py"]
ONE_TASK_PER_NODE = "-N2 --ntasks-per-node=1 --gpus-per-node=4"
ROWS = dict.fromkeys(range(4), 5)
"""Rows of each rank if rank 3 waits in the sixth step."""


def held_case(name: str, *world: str, **more: Any) -> dict[str, Any]:
    """Rank 3 waits in its sixth step while a file with the case's name exists; all other ranks wait for it."""
    return {
        "name": name, "strategy": "ddp", "scaling": "weak", "batch_per_rank": 4, "world": world or ["2x2"],
        "workload": {"hold": name, "on_rank": 3},
    } | more  # fmt: skip


class Study:
    """A results folder, with the workload of held.py next to its suites."""

    def __init__(self, cluster: Any, image: str, name: str) -> None:
        self._cluster = cluster
        self._image = image
        self.inside = f"/results/{name}"
        self.folder: Path = cluster.results / name
        self.folder.mkdir()
        for path in BESIDE:
            shutil.copy(path, self.folder)
        owner = cluster.results.stat()
        self.user = (owner.st_uid, owner.st_gid)
        """Owner of the cluster's results."""
        shutil.chown(self.folder, *self.user)

    def write_suite(self, name: str, cases: list[dict[str, Any]], **measure: object) -> None:
        suite = {
            "title": name.capitalize(),
            "why": "To see how a session goes on a cluster.",
            "workload": {"name": "./held.py:Workload"},
            "measure": {"warmup": 1, "steps": 11, "repeats": 1, "timeout_s": 60} | measure,
            "cases": cases,
        }
        (self.folder / f"{name}.yaml").write_text(json.dumps(suite))  # JSON is YAML

    def start(
        self, arguments: str, step: str = ONE_TASK_PER_NODE, before: str = "", command: str = "suite"
    ) -> Step:
        """Start `bench suite ARGUMENTS`, or another command, in its own step, called `study`; each task calls `before`
        first."""
        order = "" if "--resume" in arguments else "--order fixed "  # tests stop a certain run
        call = f"apptainer exec {self._image} bench {command} --results . {order}{arguments}"
        if before:
            call = f"bash -c '{before}; exec {call}'"
        log = self.folder / f"step{len([*self.folder.glob('step*.log')])}.log"
        line = f"cd {self.inside} && exec srun --job-name study {step} {call}"
        with log.open("w") as output:
            return Step(process=self._cluster.background(line, output=output), log=log)

    def finish(self, arguments: str, step: str = ONE_TASK_PER_NODE, command: str = "suite") -> Step:
        """Start a step and wait for its end."""
        started = self.start(arguments, step, command=command)
        started.wait()
        return started

    def hold(self, name: str) -> None:
        """Create the file; from now on, ranks of held.py with this name in `hold` wait."""
        (self.folder / name).touch()

    def release(self, name: str) -> None:
        (self.folder / name).unlink()

    def run_json(self, session: str, run_id: str) -> Path:
        return self.folder / session / run_id / "run.json"

    def outcome(self, session: str, run_id: str) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads(self.run_json(session, run_id).read_text())["outcome"]
        return loaded

    def raw_rows(self, session: str, run_id: str) -> dict[int, int]:
        """Number of rows in the file of each rank."""
        found = (recorder.read(path) for path in (self.folder / session / run_id).glob("steps.rank*.raw"))
        return {rank.identity["rank"]: len(rank.words) for rank in found}

    def rows(self, session: str, run_id: str, attempt: int) -> dict[int, int]:
        """Number of rows of each rank in the database; they are the rank's first rows, without a gap."""
        counted = self.asked(
            "SELECT rank, count(DISTINCT step), max(step) + 1 FROM steps WHERE session_id = "
            f"'{session}' AND run_id = '{run_id}' AND attempt = {attempt} GROUP BY ALL"
        )
        assert all(count == last for _, count, last in counted)
        return {rank: count for rank, count, _ in counted}

    def environment(self, session: str) -> dict[str, dict[str, str]]:
        head: dict[str, Any] = json.loads((self.folder / session / "session.json").read_text())
        return {facts["hostname"]: facts for facts in head["environment"].values()}

    def bench(self, arguments: str) -> str:
        """Output of another command on the login node."""
        line = f"cd {self.inside} && apptainer exec {self._image} bench {arguments}"
        done = self._cluster.run(line, timeout=300)
        return str(done.stdout + done.stderr)

    def asked(self, sql: str) -> list[tuple[Any, ...]]:
        with duckdb.connect(str(self.folder / "results.duckdb"), read_only=True) as connection:
            return connection.sql(sql).fetchall()


class Step:
    """A step that was started."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self._process = process
        self._log = log
        self.begun_s = time.time()
        """Unix time."""

    @property
    def said(self) -> str:
        """Output of all tasks so far, stdout and stderr together."""
        return self._log.read_text()

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def wait(self, patience_s: float = 600) -> int:
        """Exit code of srun."""
        return self._process.wait(patience_s)


def in_the_middle_of(run_id: str, step: Step, nodes: Nodes) -> None:
    """Wait until rank 3 waits in that run, and the others for it."""
    until(lambda: step.ended or nodes.rows(run_id) == ROWS, f"in the middle of {run_id}")
    assert not step.ended, step.said


def figures(what: str, begun_s: float, row: Path | None, gone: Callable[[], bool]) -> None:
    """Wait for the row of a run that needs no resume, and for the end of processes; return both waiting times."""
    row_s = "-"
    if row is not None:
        until(row.exists, f"written: {row}")
        row_s = f"{time.monotonic() - begun_s:.1f}"
    until(gone, f"gone after {what}")
    tell(f"{what}: row after {row_s} s, last process gone after {time.monotonic() - begun_s:.1f} s")


def tell(text: str) -> None:
    """Print a figure for docs/reliability.md; pytest shows it with -s. No test checks its value."""
    sys.stderr.write(f"\n    {text}")
