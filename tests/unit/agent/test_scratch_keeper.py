"""The keeper saves the rows of a killed agent, and ends in every case."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from bench.common.files import raw_files

PATIENCE_S = 20.0
# an agent that says its keeper's process id and does what it is told
AGENT = """
import sys
from pathlib import Path
from bench.agent.scratch_keeper import Keeper
scratch, folder = map(Path, sys.argv[1:])
keeper = Keeper.start(scratch)
print(keeper.process.pid, flush=True)
for line in sys.stdin:
    match line.strip():
        case "begin": keeper.begin(scratch / "ddp.1x2.r0.0", folder, 0)
        case "end": keeper.end()
        case "stop": keeper.stop()
    print("done", flush=True)
"""


class Agent:
    """A process with a keeper, a scratch folder with two ranks' files, and the run's folder."""

    def __init__(self, temporary: Path) -> None:
        self.scratch, self.folder = temporary / "bench-x", temporary / "r"
        run = self.scratch / "ddp.1x2.r0.0"
        for path in (run, self.folder):
            path.mkdir(parents=True)
        for name in ("steps.rank0.raw", "steps.rank1.raw", "evals.raw", "outcome.rank0.json"):
            (run / name).write_text(f"of the dead agent: {name}")
        command = [sys.executable, "-c", AGENT, str(self.scratch), str(self.folder)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, start_new_session=True)
        self.keeper = psutil.Process(int(self._heard()))

    def tell(self, *words: str) -> None:
        assert self.process.stdin is not None
        for word in words:
            self.process.stdin.write(f"{word}\n")
            self.process.stdin.flush()
            assert self._heard() == "done"

    def kept(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in raw_files(self.folder)}

    def keeper_ends(self) -> None:
        until(lambda: has_ended(self.keeper))

    def _heard(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    started = Agent(tmp_path)
    yield started
    started.process.kill()
    started.process.communicate()
    started.keeper_ends()


def test_the_rows_of_a_killed_agents_run_are_kept_and_nothing_else_is_left(agent: Agent) -> None:
    agent.tell("begin")
    agent.process.kill()
    agent.keeper_ends()
    assert agent.kept() == {
        name: f"of the dead agent: {name}" for name in ("evals.raw", "steps.rank0.raw", "steps.rank1.raw")
    }
    assert sorted(path.name for path in agent.folder.iterdir()) == sorted(agent.kept())
    assert not agent.scratch.exists()


def test_what_is_there_already_stays(agent: Agent) -> None:
    (agent.folder / "steps.rank1.raw").write_text("of the agent itself")
    agent.tell("begin")
    agent.process.kill()
    agent.keeper_ends()
    assert agent.kept()["steps.rank1.raw"] == "of the agent itself"
    assert len(agent.kept()) == 3


@pytest.mark.parametrize(
    "end",
    [
        lambda agent: agent.tell("begin", "end", "stop"),
        lambda agent: agent.tell("stop"),
        lambda agent: (agent.tell("begin", "end"), agent.process.kill()),
        lambda agent: agent.process.kill(),
    ],
    ids=["stopped after a run", "stopped before any", "killed after a run", "killed before any"],
)
def test_without_an_open_run_it_only_clears_away(agent: Agent, end: Callable[[Agent], object]) -> None:
    end(agent)
    agent.keeper_ends()
    assert agent.kept() == {}
    assert not agent.scratch.exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_to_a_terminal_or_a_step_do_not_end_it(agent: Agent, number: signal.Signals) -> None:
    agent.tell("begin")
    until(lambda: ignores(agent.keeper, number))
    agent.keeper.send_signal(number)
    os.killpg(agent.process.pid, signal.SIGKILL)
    agent.keeper_ends()
    assert len(agent.kept()) == 3


def test_runs_go_on_without_it(agent: Agent) -> None:
    agent.keeper.kill()
    agent.keeper_ends()
    agent.tell("begin", "end", "begin", "stop")
    agent.keeper_ends()


def test_rows_that_cannot_be_kept_stay_where_they_were(agent: Agent) -> None:
    agent.folder.rmdir()
    agent.tell("begin")
    agent.process.kill()
    agent.keeper_ends()
    assert len(raw_files(agent.scratch / "ddp.1x2.r0.0")) == 3


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def has_ended(process: psutil.Process) -> bool:
    """True also if no process has collected its exit status."""
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def ignores(process: psutil.Process, number: signal.Signals) -> bool:
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    mask = next(line.split()[1] for line in lines if line.startswith("SigIgn"))
    return bool(int(mask, 16) >> (number - 1) & 1)
