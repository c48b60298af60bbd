"""Where a rank is, by what faulthandler wrote into its log when it was asked."""

from __future__ import annotations

import faulthandler
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

import bench
from bench.agent.timeout import in_script, in_user_code, outside_torch

CODE = "import os, signal\ndef step():\n    os.kill(os.getpid(), signal.SIGUSR1)\nstep()\n"


def ask(log: Path, file: str) -> None:
    """As an agent asks a rank whose main thread is in line 3 of that file."""
    with log.open("a") as output:
        faulthandler.register(signal.SIGUSR1, file=output, all_threads=True)
        exec(compile(CODE, file, "exec"), {})
        faulthandler.unregister(signal.SIGUSR1)


def test_a_rank_in_its_own_code_is_named_with_the_line(tmp_path: Path) -> None:
    log = tmp_path / "rank0.log"
    log.write_text("what the model printed\n")
    ask(log, "/models/my_model.py")
    assert outside_torch(log) == "my_model.py line 3 in step"


def test_a_rank_in_torch_waits_for_others(tmp_path: Path) -> None:
    ask(tmp_path / "rank0.log", "/opt/venv/lib/python3.11/site-packages/torch/autograd/graph.py")
    assert outside_torch(tmp_path / "rank0.log") is None


def test_of_several_stacks_the_last_one_counts(tmp_path: Path) -> None:
    log = tmp_path / "rank0.log"
    for file in ("/models/earlier.py", "/models/later.py"):
        ask(log, file)
    assert outside_torch(log) == "later.py line 3 in step"


def test_the_main_thread_counts_whatever_others_do(tmp_path: Path) -> None:
    leave = threading.Event()
    other = threading.Thread(target=leave.wait)
    other.start()
    ask(tmp_path / "rank0.log", "/models/my_model.py")
    leave.set()
    other.join()
    assert (tmp_path / "rank0.log").read_text().count("hread 0x") >= 2
    assert outside_torch(tmp_path / "rank0.log") == "my_model.py line 3 in step"


def test_the_users_main_thread_comes_before_the_users_other_threads(tmp_path: Path) -> None:
    leave, names = threading.Event(), dict[str, Any]()
    exec(compile("def idle(leave):\n    leave.wait()\n", "/models/idle.py", "exec"), names)
    other = threading.Thread(target=names["idle"], args=(leave,))
    other.start()
    ask(tmp_path / "rank0.log", "/models/my_model.py")
    leave.set()
    other.join()
    assert "/models/idle.py" in (tmp_path / "rank0.log").read_text()
    assert in_user_code(tmp_path / "rank0.log") == "my_model.py:3, in step"


def test_without_a_stack_nothing_is_known(tmp_path: Path) -> None:
    log = tmp_path / "rank0.log"
    log.write_text("no stack\n")
    assert outside_torch(log) is None


@pytest.mark.parametrize(
    ("frames", "place"),
    [
        (["/usr/lib/python3.10/threading.py", "/mine/my_train.py"], "my_train.py line 2 in f"),
        (["/opt/conda/lib/python3.12/site-packages/torch/x.py", "train.py"], "train.py line 2 in f"),
        (
            ["/v/lib/python3.12/site-packages/torch/x.py", "/v/lib/python3.12/site-packages/lib/fit.py"],
            "fit.py line 2 in f",
        ),
        (
            [str(Path(bench.__file__).parent / "probe/bench_probe/hooks.py"), "train.py"],
            "train.py line 2 in f",
        ),
        (["/usr/lib/python3/dist-packages/lib/a.py", "/w/run.py", "<frozen runpy>"], "run.py line 2 in f"),
        (["/usr/lib/python3.10/threading.py", "<frozen runpy>"], None),
    ],
)
def test_the_script_is_found_below_torch_and_the_library(
    tmp_path: Path, frames: list[str], place: str | None
) -> None:
    """Also of another Python than ours; `frames` from the innermost."""
    log = tmp_path / "rank0.log"
    stack = "".join(f'  File "{file}", line {number} in f\n' for number, file in enumerate(frames, start=1))
    log.write_text(f"printed\nCurrent thread 0x00007f (most recent call first):\n{stack}")
    assert in_script(log) == place
