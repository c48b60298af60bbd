"""Processes that a rank leaves have given back their memory before the next run begins."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.agent import ranks
from bench.agent.ranks import RankGroup
from bench.common.process import is_running, join_groups

HELD_BYTES = 512 << 20
"""The kernel needs a while to take back so much memory of a killed process."""


def _rank_with_a_worker(ready: Connection) -> None:
    os.setpgid(0, 0)
    if (worker := os.fork()) == 0:
        held = bytearray(HELD_BYTES)
        for place in range(0, HELD_BYTES, 4096):
            held[place] = 1
        ready.send(os.getpid())
    elif worker:
        os.waitpid(worker, 0)
    time.sleep(600)


def _group(folder: Path) -> RankGroup:
    part: Any = SimpleNamespace(run=SimpleNamespace(runs_a_command=False, run_id="ddp.1x2.r0"))
    nothing: Any = None
    return RankGroup(part, nothing, nothing, folder, folder)


def test_a_workers_memory_is_free_after_a_run(tmp_path: Path) -> None:
    group = _group(tmp_path)
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    rank: Any = context.Process(target=_rank_with_a_worker, args=(theirs,))
    rank.start()
    worker = ours.recv()
    assert is_running(worker)
    group._processes[0] = rank
    group._kill(failed=False)
    assert not is_running(worker)


LEAVES_A_CHILD = (
    "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(0.5)'])"
)
LEAVES_ONE_FOR_LONG = LEAVES_A_CHILD.replace("0.5", "600")


def _leader_that_ended(program: str) -> int:
    leader = subprocess.Popen([sys.executable, "-c", program], process_group=0)
    leader.wait()
    return leader.pid


def test_a_group_is_waited_for_after_its_leader_has_ended() -> None:
    group = _leader_that_ended(LEAVES_A_CHILD)
    assert join_groups([group], limit_s=60)
    assert join_groups([group], limit_s=0)


def test_a_group_that_does_not_end_is_waited_for_as_long_as_is_allowed() -> None:
    group = _leader_that_ended(LEAVES_ONE_FOR_LONG)
    try:
        assert not join_groups([group], limit_s=0.2)
    finally:
        os.killpg(group, 9)
    assert join_groups([group], limit_s=60)


def test_memory_that_processes_still_hold_before_the_next_run_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ranks, "_GONE_S", 0.2)
    group = _group(tmp_path)
    rank: Any = SimpleNamespace(pid=_leader_that_ended(LEAVES_ONE_FOR_LONG))
    group._processes[0] = rank
    try:
        group._wait_for_memory()
    finally:
        os.killpg(rank.pid, 9)
    (line,) = capsys.readouterr().err.splitlines()
    assert "ddp.1x2.r0" in line
    assert "still hold memory after 0.2 s" in line
    join_groups([rank.pid], limit_s=60)
    group._wait_for_memory()
    assert not capsys.readouterr().err


STUBBORN = r"""
import json, os, signal, subprocess, sys
from bench.agent.leftovers import Leftovers
from bench.common.process import adopt_orphans, is_running

adopt_orphans()
STAYS = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint(1, flush=True)\ntime.sleep(600)"

def started(at_first="", processes=1):
    process = subprocess.Popen([sys.executable, "-c", at_first + STAYS], stdout=subprocess.PIPE)
    for _ in range(processes):
        process.stdout.readline()
    return process

older = started()  # in the place of the server
leftovers = Leftovers(older.pid)
newer = started("import os\nif os.fork() == 0: os.setsid()\n", processes=2)
left = leftovers.end(limit_s=0.1)
names = sorted(set(left.values()))
ended = leftovers.end()
print(json.dumps([len(left), names, newer.pid in left, ended, is_running(newer.pid), older.poll()]))
older.kill()
"""


def test_processes_that_do_not_end_within_the_limit_are_told() -> None:
    done = subprocess.run(
        [sys.executable, "-c", STUBBORN], capture_output=True, text=True, timeout=60, check=False
    )
    name = Path(sys.executable).resolve().name[:15]
    found, names, *others = json.loads(done.stdout)
    assert (found, others) == (2, [True, {}, False, None]), done.stderr
    assert names in ([name], ["python"])
