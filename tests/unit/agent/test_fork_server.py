"""The fork server imports what its ranks need, once for all of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
# multiprocessing starts one server for each process, so each test has a process of its own
ASK = """
import sys
from bench.agent.fork_server import WarmServer
server = WarmServer(loads_torch=sys.argv[1] == "torch")
server.start()
print(server.ask("tests.unit.agent.forked", ""))
"""


def in_a_forked_process(loads: str) -> dict[str, Any]:
    command = [sys.executable, "-c", ASK, loads]
    done = subprocess.run(
        command, cwd=ROOT, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_a_server_for_commands_loads_no_torch() -> None:
    assert in_a_forked_process("nothing")["loaded"] == []


def test_a_rank_has_torch_and_its_loop_and_walks_none_of_its_objects_again() -> None:
    forked = in_a_forked_process("torch")
    assert forked["loaded"] == ["torch", "torch._dynamo", "bench.train.loop"]
    youngest, young, old = forked["objects"]
    assert youngest + young < 0.1 * old
