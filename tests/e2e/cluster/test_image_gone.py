"""A Slurm step is stopped when its image can no longer be read, at ten moments of a session.

A signal to a step also ends the process that mounts an unprivileged Apptainer image. Here that process is killed
first. Nothing that runs after it can import a module or read a file of the image; SIGTERM comes when the image is
certainly gone."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.e2e.cluster.nodes import Nodes, until
from tests.e2e.cluster.studies import tell
from tests.e2e.moments import about_to_write

RANKS = 2
LONG = 100_000
"""Steps that no test waits for."""
OWN = '''
"""Trains on points that are all alike."""
import torch
from torch import nn

from bench.workloads import Workload


class Net(Workload):
    validation_size = 8

    def model(self):
        return nn.Linear(3, 1)

    def batch(self, places, keys):
        return {"points": torch.ones(len(places), 3)}

    def loss(self, model, batch):
        return model(batch["points"]).square().mean()
'''
SUITE: dict[str, Any] = {
    "title": "Own",
    "why": "To be stopped.",
    "workload": {"name": "./own.py:Net"},
    "device": "cpu",
    "measure": {"warmup": 2, "steps": 6, "repeats": 1},
    "cases": [
        {"name": "ddp_strong", "strategy": "ddp", "scaling": "strong", "global_batch": 8, "world": [1, 2]}
    ],
}


@dataclass(frozen=True, kw_only=True)
class Moment:
    """When the image goes away, and the expected results."""

    waits_to_write: str | None = None
    """The file below the session's folder that the agent then waits to write."""
    rows: int | None = None
    """Smallest number of rows that rank 0 then has; null if no rank runs."""
    settings: tuple[str, ...] = ("measure.warmup=2", "measure.steps=6")
    status: str | None = None
    """Status of the first run; null if it has none."""
    done: int | None = None
    """Number of runs that the last line reports as done; null if the session has not begun."""


RUN, NEXT = "ddp_strong.1x2.r0", "ddp_strong.1x2.r1"
INTERRUPTED = {"status": "interrupted", "done": 0}
MOMENTS: dict[str, Moment] = {
    "torch is loaded": Moment(),
    "the plan is written": Moment(waits_to_write="plan.json.tmp"),
    "the first run begins": Moment(waits_to_write=f"{RUN}/begun.json.tmp", **INTERRUPTED),
    "ranks are set up": Moment(rows=0, settings=(f"measure.warmup={LONG}",), **INTERRUPTED),
    "warm-up": Moment(rows=1, settings=(f"measure.warmup={LONG}",), **INTERRUPTED),
    "measured steps": Moment(rows=20, settings=("measure.warmup=2", f"measure.steps={LONG}"), **INTERRUPTED),
    "validations": Moment(
        rows=2,
        settings=("measure.warmup=0", f"measure.steps={LONG}", "measure.validate_every=1"),
        **INTERRUPTED,
    ),
    "rows are written as Parquet": Moment(
        waits_to_write=f"{RUN}/steps.node0.parquet.tmp", status="ok", done=1
    ),
    "the second run begins": Moment(waits_to_write=f"{NEXT}/begun.json.tmp", status="ok", done=1),
    "the database is written": Moment(waits_to_write="../results.duckdb", status="ok", done=2),
}

SHIPS = ("torch is loaded", "ranks are set up", "validations", "the database is written")
"""Moments at which a suite that ships is stopped, too: the code of its workload is in the image."""
STOPS = [(name, "./own.yaml") for name in MOMENTS] + [(name, "smoke") for name in SHIPS]


class Sessions:
    """A results folder with one session per stop, each in its own step on one node."""

    def __init__(self, cluster: Any, nodes: Nodes, image: str) -> None:
        self._cluster, self._nodes, self._image = cluster, nodes, image
        self.folder: Path = cluster.results / "gone"
        self.folder.mkdir()
        (self.folder / "own.py").write_text(OWN)
        (self.folder / "own.yaml").write_text(json.dumps(SUITE))  # JSON is YAML
        owner = cluster.results.stat()
        self._user = (owner.st_uid, owner.st_gid)
        shutil.chown(self.folder, *self._user)
        self.stopped: dict[str, Moment] = {}
        """By session."""
        assert self.bench("load .").returncode == 0  # an empty database

    def bench(self, arguments: str) -> Any:
        return self._cluster.run(f"cd /results/gone && apptainer exec {self._image} bench {arguments}")

    def stopped_at(self, moment: Moment, suite: str, session: str) -> tuple[int, str]:
        """Exit code of srun, and all of its output."""
        folder = self.folder / session
        self.stopped[session] = moment
        for path in (folder, folder / RUN, folder / NEXT):
            path.mkdir()
            shutil.chown(path, *self._user)
        words = ["apptainer exec", self._image, "bench suite", suite]
        words += ["--case ddp_strong --world 2 --repeats 2 --ranks-per-node 2 --results ."]
        words += [f"--session {session}", *(f"--set {setting}" for setting in moment.settings)]
        log = self.folder / f"{session}.log"
        line = f"cd /results/gone && exec srun --job-name gone --ntasks 1 {' '.join(words)}"
        with ExitStack() as stack:
            wanted = self._reached(moment, folder, stack)
            step = self._cluster.background(line, output=stack.enter_context(log.open("w")))
            until(lambda: wanted() or step.poll() is not None, session)
            assert step.poll() is None, log.read_text()
            self._take_the_image_away()
            self._tell_to_stop()
        return step.wait(120), log.read_text()

    def run(self, session: str) -> dict[str, Any] | None:
        path = self.folder / session / RUN / "run.json"
        return json.loads(path.read_text())["outcome"] if path.exists() else None

    def _reached(self, moment: Moment, folder: Path, stack: ExitStack) -> Callable[[], bool]:
        if moment.waits_to_write is not None:
            path = (folder / moment.waits_to_write).resolve()
            wanted = stack.enter_context(about_to_write(path))
            shutil.chown(path, *self._user)
            return wanted
        if moment.rows is None:
            return lambda: any(one.command[0] == "bench: fork server" for one in self._nodes.processes())
        least = moment.rows
        return lambda: self._nodes.rows(RUN).get(0, -1) >= least

    def _take_the_image_away(self) -> None:
        # a signal to the step would have ended helpers that have only just begun
        until(lambda: not self._beginning(), "under way")
        mounting = [one for one in self._nodes.processes() if one.command[0].endswith("squashfuse_ll")]
        assert len(mounting) == 2, mounting  # the image, and our code
        for process in mounting:
            os.kill(process.pid, signal.SIGKILL)
        until(lambda: not any(process.alive for process in mounting), "gone")

    def _beginning(self) -> bool:
        """Whether a helper has not named itself yet."""
        modules = {"bench.agent.scratch_keeper", "bench.measure.sensors.process"}
        return any(modules.intersection(one.command) for one in self._nodes.processes())

    def _tell_to_stop(self) -> None:
        """Send the signal twice, as scancel does. Returns once the agent has taken the first one."""
        agents = list(self._nodes.agents().values())
        for agent in agents:
            os.kill(agent.pid, signal.SIGTERM)
        until(lambda: not any(_pending(agent.pid) for agent in agents), "told")
        self._cluster.run("scancel --signal=TERM --name gone")


def _pending(pid: int) -> bool:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:  # it has ended
        return False
    masks = [int(line.split()[1], 16) for line in lines if line.startswith(("SigPnd", "ShdPnd"))]
    return any(mask >> (signal.SIGTERM - 1) & 1 for mask in masks)


@pytest.fixture(scope="module")
def sessions(cluster: Any, nodes: Nodes, image: str) -> Sessions:
    return Sessions(cluster, nodes, image)


@pytest.mark.usefixtures("idle_nodes")
@pytest.mark.parametrize(("name", "suite"), STOPS)
def test_a_step_that_is_stopped_without_its_image_ends_as_one_with_it(
    sessions: Sessions, name: str, suite: str
) -> None:
    moment = MOMENTS[name]
    session = f"{list(MOMENTS).index(name)}-{'ships' if suite == 'smoke' else 'file'}"
    code, said = sessions.stopped_at(moment, suite, session)
    outcome = sessions.run(session)
    assert code == 128 + signal.SIGTERM, said
    assert "Traceback" not in said
    if moment.done is None:
        assert "bench: stopped by SIGTERM" in said
    else:
        assert (
            f"stopped by SIGTERM after {moment.done} of 2 runs; everything measured is kept. Run `bench load"
            in said
        )
    assert (outcome and outcome["status"]) == moment.status
    assert (f"--resume {session}" in said) == (moment.done in (0, 1))


def test_every_row_of_every_session_is_in_the_database_afterwards(sessions: Sessions) -> None:
    loaded = sessions.bench("load .")
    assert loaded.returncode == 0, loaded.stdout + loaded.stderr
    asked = (
        "SELECT session_id, status, any_value(r.error), count(DISTINCT (rank, step)) FILTER (step IS NOT NULL) "
        f"FROM runs r LEFT JOIN steps USING (session_id, run_id, attempt) WHERE run_id = '{RUN}' GROUP BY ALL"
    )
    with duckdb.connect(str(sessions.folder / "results.duckdb"), read_only=True) as connection:
        found = {row[0]: row[1:] for row in connection.sql(asked).fetchall()}
    for session, moment in sessions.stopped.items():
        status, error, rows = found.get(session, (None, None, 0))
        tell(f"{session} | {status} | {rows} rows")
        assert status == moment.status
        assert error == ("stopped by SIGTERM" if status == "interrupted" else None)
        assert rows >= RANKS * (8 if status == "ok" else moment.rows or 0)
