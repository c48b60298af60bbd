"""`bench suite` in a Slurm step: a folder of results that the cluster and the test see, and a step that runs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import duckdb

BESIDE = [Path(__file__).parent / "held.py", Path(__file__).parents[1] / "faulty.py"]
ONE_TASK_PER_NODE = "-N2 --ntasks-per-node=1 --gpus-per-node=4"


class Study:
    """A results folder, with the workload of held.py beside its suites."""

    def __init__(self, cluster: Any, image: str, name: str) -> None:
        self._cluster = cluster
        self._image = image
        self.inside = f"/results/{name}"
        self.folder: Path = cluster.results / name
        self.folder.mkdir()
        for path in BESIDE:
            shutil.copy(path, self.folder)
        user = cluster.results.stat()
        os.chown(self.folder, user.st_uid, user.st_gid)

    def write_suite(self, name: str, cases: list[dict[str, Any]], **measure: object) -> None:
        suite = {
            "title": name.capitalize(),
            "why": "To see how a session goes on a cluster.",
            "workload": {"name": "./held.py:Workload"},
            "measure": {"warmup": 1, "steps": 11, "repeats": 1, "timeout_s": 60} | measure,
            "cases": cases,
        }
        (self.folder / f"{name}.yaml").write_text(json.dumps(suite))  # JSON is YAML

    def start(self, arguments: str, step: str = ONE_TASK_PER_NODE, before: str = "") -> Step:
        """`bench suite ARGUMENTS` in a step of its own, called `study`; each task calls `before` first."""
        command = f"apptainer exec {self._image} bench suite {arguments} --results ."
        if before:
            command = f"bash -c '{before}; exec {command}'"
        log = self.folder / f"step{len([*self.folder.glob('step*.log')])}.log"
        line = f"cd {self.inside} && exec srun --job-name study {step} {command}"
        with log.open("w") as output:
            return Step(process=self._cluster.background(line, output=output), log=log)

    def finish(self, arguments: str, step: str = ONE_TASK_PER_NODE) -> Step:
        """The same, and wait for its end."""
        started = self.start(arguments, step)
        started.wait()
        return started

    def hold(self, name: str) -> None:
        """From now on ranks of held.py that are told this name wait."""
        (self.folder / name).touch()

    def release(self, name: str) -> None:
        (self.folder / name).unlink()

    def run_json(self, session: str, run_id: str) -> Path:
        return self.folder / session / run_id / "run.json"

    def outcome(self, session: str, run_id: str) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads(self.run_json(session, run_id).read_text())["outcome"]
        return loaded

    def environment(self, session: str) -> dict[str, dict[str, str]]:
        head: dict[str, Any] = json.loads((self.folder / session / "session.json").read_text())
        return {facts["hostname"]: facts for facts in head["environment"].values()}

    def load(self) -> None:
        done = self._cluster.run(f"apptainer exec {self._image} bench load {self.inside}", timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr

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
        """Both outputs of all tasks so far."""
        return self._log.read_text()

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def wait(self, patience_s: float = 240) -> int:
        """Its exit code, srun's."""
        return self._process.wait(patience_s)


def tell(text: str) -> None:
    """A figure for docs/reliability.md; shown with pytest's -s, held to nothing."""
    sys.stderr.write(f"\n    {text}")
