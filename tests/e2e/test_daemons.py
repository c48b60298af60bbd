"""A process that a training leaves after a double fork and setsid ends with a failed run, and lives on after any other.

The scripts import torch only where they must train."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from processes import Marked

from tests.e2e.faulty_sessions import ddp, suite_file
from tests.e2e.tasks import Tasks

BEGIN = """
import os, signal, sys, time
folder = sys.argv[1]
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, lambda *_: open(f"{folder}/asked", "w"))
        open(f"{folder}/{os.getpid()}.pid", "w")
        while True:
            time.sleep(600)
    os._exit(0)
os.wait()
while sum(name.endswith(".pid") for name in os.listdir(folder)) < int(os.environ["WORLD_SIZE"]):
    time.sleep(0.01)
"""
"""Its daemon stays after SIGTERM."""
TRAINS = """
import torch
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(9):
    model(torch.ones(3, 2)).sum().backward()
    optimizer.step()
"""
ENDS = {
    "fails": BEGIN + "sys.exit(3)\n",
    "hangs": BEGIN + "time.sleep(600)\n",
    "trains": BEGIN + TRAINS,
    "fails_beside_another": BEGIN + "sys.exit(3) if os.environ['RANK'] == '1' else time.sleep(600)\n",
    "trains_then_fails": f"""{BEGIN}
if os.path.exists(f"{{folder}}/second"):
    sys.exit(3)
open(f"{{folder}}/second", "w")
{TRAINS}""",
}
LIMIT_S = 10.0


class Commands:
    """`bench run` of scripts that each leave a daemon in a folder of the name of the session."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.marked = Marked(folder)
        self.marked.environment["PATH"] = os.pathsep.join(
            [str(Path(sys.executable).parent), os.environ["PATH"]]
        )
        for name, text in ENDS.items():
            (folder / f"{name}.py").write_text(text)

    def words(self, name: str, *more: str, world: str = "1") -> list[str]:
        (self.folder / name).mkdir()
        lengths = ("--warmup", "2", "--steps", "6")
        where = ("--results", str(self.folder / "r"), "--session", name, "--no-load", "--world", world)
        script = ("--", "python", str(self.folder / f"{name}.py"), str(self.folder / name))
        return ["run", *where, "--repeats", "1", *lengths, *more, *script]

    def start(self, name: str, *more: str) -> subprocess.Popen[str]:
        return self.marked.start(*self.words(name, *more), cwd=self.folder)

    def daemons(self, name: str, count: int = 1) -> list[int]:
        """Process ids of its daemons, once `count` have begun."""
        found: list[Path] = []
        deadline_s = time.monotonic() + 120
        while len(found) < count and time.monotonic() < deadline_s:
            found = list((self.folder / name).glob("*.pid"))
            time.sleep(0.05)
        assert len(found) == count
        return [int(path.stem) for path in sorted(found, key=lambda path: path.stat().st_mtime_ns)]

    def is_left(self, pid: int) -> bool:
        return any(line.startswith(f"{pid}: ") for line in self.marked.left(0))

    def outcome(self, name: str) -> dict[str, Any]:
        """The outcome of the only run of a session."""
        (path,) = (self.folder / "r" / name).glob("*/run.json")
        run: dict[str, Any] = json.loads(path.read_text())["outcome"]
        return run


@pytest.fixture
def commands(tmp_path: Path) -> Iterator[Commands]:
    made = Commands(tmp_path)
    yield made
    for line in made.marked.left(0):
        os.kill(int(line.partition(":")[0]), signal.SIGKILL)


def test_after_a_failure_nothing_is_left(commands: Commands) -> None:
    started = commands.start("fails")
    (daemon,) = commands.daemons("fails")
    _, errors = started.communicate(timeout=60)
    assert (started.returncode, commands.outcome("fails")["status"]) == (1, "failed")
    assert not commands.is_left(daemon)
    assert commands.marked.left() == []
    assert (commands.folder / "fails/asked").exists()
    assert "unexpected pid" not in errors
    assert "still running" not in errors


def test_after_a_timeout_nothing_is_left(commands: Commands) -> None:
    started = commands.start("hangs", "--timeout", "3")
    (daemon,) = commands.daemons("hangs")
    started.communicate(timeout=60)
    assert commands.outcome("hangs")["status"] == "timeout"
    assert not commands.is_left(daemon)
    assert commands.marked.left() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_after_a_stop_nothing_is_left(commands: Commands, number: signal.Signals) -> None:
    started = commands.start("hangs")
    (daemon,) = commands.daemons("hangs")
    assert commands.is_left(daemon)
    began_s = time.monotonic()
    os.kill(started.pid, number)
    started.communicate(timeout=60)
    assert (started.returncode, commands.outcome("hangs")["status"]) == (128 + number, "interrupted")
    assert commands.marked.left(0) == []
    assert time.monotonic() - began_s < LIMIT_S


def test_after_the_death_of_the_server_nothing_is_left(commands: Commands) -> None:
    started = commands.start("hangs")
    (daemon,) = commands.daemons("hangs")
    (server,) = [line for line in commands.marked.left(0) if "bench: fork server" in line]
    os.kill(int(server.partition(":")[0]), signal.SIGKILL)
    started.communicate(timeout=60)
    assert commands.outcome("hangs")["status"] == "failed"
    assert not commands.is_left(daemon)
    assert commands.marked.left() == []


def test_after_a_normal_end_a_daemon_lives_on(commands: Commands) -> None:
    started = commands.start("trains")
    (daemon,) = commands.daemons("trains")
    _, errors = started.communicate(timeout=120)
    assert (started.returncode, commands.outcome("trains")["status"]) == (0, "ok"), errors
    (left,) = commands.marked.left(0)  # nor does it keep a process of `bench`
    assert left.startswith(f"{daemon}: ")


def test_a_failed_run_ends_no_daemon_of_the_run_before_it(commands: Commands) -> None:
    started = commands.start("trains_then_fails", "--repeats", "2")
    _, errors = started.communicate(timeout=120)
    assert started.returncode == 1, errors
    of_the_first, of_the_second = commands.daemons("trains_then_fails", 2)
    assert commands.is_left(of_the_first)
    assert not commands.is_left(of_the_second)


def test_of_two_agents_on_a_node_one_that_fails_ends_nothing_of_the_other(commands: Commands) -> None:
    other = commands.start("hangs")
    (of_the_other,) = commands.daemons("hangs")
    failing = commands.start("fails")
    failing.communicate(timeout=60)
    (of_the_failing,) = commands.daemons("fails")
    assert not commands.is_left(of_the_failing)
    assert commands.is_left(of_the_other)
    assert other.poll() is None
    os.kill(other.pid, signal.SIGTERM)
    other.communicate(timeout=60)
    assert not commands.is_left(of_the_other)


def test_a_run_of_two_agents_on_a_node_leaves_nothing_of_either(commands: Commands, tmp_path: Path) -> None:
    words = commands.words("fails_beside_another", world="2")
    tasks = Tasks(commands.marked, tmp_path, [2], *words).start()
    commands.daemons("fails_beside_another", 2)
    assert tasks.wait()[0] == 1, tasks.said()
    assert commands.outcome("fails_beside_another")["status"] == "failed"
    assert commands.marked.left() == []


def test_a_failed_rank_of_a_suite_leaves_nothing(tmp_path: Path) -> None:
    marked = Marked(tmp_path)
    suite = suite_file(tmp_path, [ddp("leaves", fault="leave_a_daemon")])
    done = marked.run(
        "suite", str(suite), "--results", str(tmp_path / "r"), "--ranks-per-node", "2", "--no-load"
    )
    assert done.returncode == 1
    assert "planted: a daemon is left" in done.stderr + done.stdout
    assert marked.left(0) == []
